"""Data sets of the UEA archive as the model sees them, against the reference protocol written down in numpy and pandas."""

import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pandas
import pytest
from safetensors import safe_open

PREPARE = os.environ["QUEST_PREPARE_SERIES"]
ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "uea"


def prepare(name: str, folder: Path, out: Path, *python: str) -> tuple[dict[str, numpy.ndarray], list[str]]:
    subprocess.run([PREPARE, name, folder, out, *python], check=True, capture_output=True)
    with safe_open(out, "numpy") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()["classes"].splitlines()


def split_by_reference(text: str, name: str) -> tuple[list[numpy.ndarray], list[str]]:
    """Every case as [steps, dimensions], missing values interpolated, each dimension standardised over the file."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines[lines.index("@data") + 1 :] if line]
    frames, labels = [], []
    for number, line in enumerate(lines):
        *dimensions, label = line.split(":")
        columns = [[numpy.nan if value == "?" else float(value) for value in series.split(",")] for series in dimensions]
        frame = pandas.DataFrame(numpy.array(columns).T).interpolate(method="linear", limit_direction="both")
        frames.append(frame.set_index(pandas.Series([number] * len(frame))))
        labels.append(label)
    steps = pandas.concat(frames)
    steps = (steps - steps.mean()) / (steps.std() + numpy.finfo(float).eps)
    cases = [steps.loc[[number]].to_numpy() for number in range(len(lines))]
    if name == "EthanolConcentration":
        cases = [case - case.mean(0) for case in cases]
        cases = [case / numpy.sqrt(case.var(1, keepdims=True) + 1e-5) for case in cases]
    return cases, labels


def assert_as_the_reference(found, classes, name: str, texts: dict[str, str]) -> None:
    parts = {part: split_by_reference(text, name) for part, text in texts.items()}
    expected_classes = sorted(set(parts["train"][1]))
    assert classes == expected_classes
    length = max(len(case) for cases, _ in parts.values() for case in cases)
    for part, (cases, labels) in parts.items():
        padded = numpy.zeros((len(cases), length, cases[0].shape[1]))
        for place, case in zip(padded, cases):
            place[: len(case)] = case
        assert found[f"{part}.values"].dtype == numpy.float32
        numpy.testing.assert_allclose(found[f"{part}.values"], padded, rtol=1e-6, atol=1e-7)
        assert found[f"{part}.lengths"].tolist() == [len(case) for case in cases]
        assert found[f"{part}.labels"].tolist() == [expected_classes.index(label) for label in labels]


@pytest.mark.parametrize(
    ("name", "train", "test", "length", "dimensions", "classes"),
    [("Handwriting", 150, 850, 152, 3, 26), ("UWaveGestureLibrary", 120, 320, 315, 3, 8)],
)
def test_files_of_the_archive(tmp_path, name, train, test, length, dimensions, classes):
    if not ARCHIVE.is_dir():
        pytest.skip(f"no {ARCHIVE}")
    found, names = prepare(name, ARCHIVE, tmp_path / "out")
    assert found["train.values"].shape == (train, length, dimensions)
    assert found["test.values"].shape == (test, length, dimensions)
    assert len(names) == classes
    texts = {part: lzma.open(ARCHIVE / f"{name}_{part.upper()}.ts.xz", "rt", encoding="latin-1").read()
             for part in ("train", "test")}  # fmt: skip
    assert_as_the_reference(found, names, name, texts)


def test_japanese_vowels_are_fetched_by_the_name_of_a_package(tmp_path):
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", tmp_path / "wheel", "aeon==1.6.0"]
    if subprocess.run(pip, capture_output=True).returncode:
        pytest.skip("pip has no index here that holds aeon")
    cache = tmp_path / "cache"
    found, names = prepare("JapaneseVowels", cache, tmp_path / "out", sys.executable)
    assert sorted(os.listdir(cache)) == ["JapaneseVowels_TEST.ts", "JapaneseVowels_TRAIN.ts"]
    assert found["train.values"].shape == (270, 29, 12)
    assert found["test.values"].shape == (370, 29, 12)
    assert found["train.lengths"].min() == 7
    texts = {part: (cache / f"JapaneseVowels_{part.upper()}.ts").read_text() for part in ("train", "test")}
    assert_as_the_reference(found, names, "JapaneseVowels", texts)
    again, _ = prepare("JapaneseVowels", cache, tmp_path / "out")
    assert (again["test.values"] == found["test.values"]).all()


@pytest.mark.parametrize("name", ["Made", "EthanolConcentration"])
def test_missing_values_and_unequal_lengths(tmp_path, name):
    generator = numpy.random.default_rng(3)
    texts = {}
    for part, cases in (("train", 9), ("test", 5)):
        lines = ["# made for this test", "@dimensions 3", "@classLabel true E40 E38 E35", "@data"]
        for case in range(cases):
            values = generator.normal(size=(3, generator.integers(4, 12))).astype("U16")
            values[generator.random(values.shape) < 0.3] = "?"
            values[:, generator.integers(values.shape[1])] = "0.25"
            series = [",".join(row) for row in values]
            lines.append(":".join([*series, ["E40", "E38", "E35"][case % 3]]))
        texts[part] = "\n".join(lines) + "\n"
        (tmp_path / f"{name}_{part.upper()}.ts").write_text(texts[part])
    assert_as_the_reference(*prepare(name, tmp_path, tmp_path / "out"), name, texts)
