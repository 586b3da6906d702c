"""The examples, run as a user runs them, for as many steps as it takes to learn something."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def run(example, *options):
    command = [sys.executable, str(ROOT / "examples" / example), *options]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    print(result.stdout)
    return result.stdout


def curve_rows(output):
    rows = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+)$", output, re.MULTILINE)
    return [(int(step), float(standard), float(quest)) for step, standard, quest in rows]


@pytest.mark.skipif(not FASHION_MNIST.is_dir(), reason="needs Debian's dataset-fashion-mnist")
def test_vit_on_fashion_mnist():
    output = run("vit_fashion_mnist.py", "--steps", "300")
    rows = curve_rows(output)
    assert len(rows) == 10 and rows[-1][0] == 300
    accuracies = dict(re.findall(r"^(\w+): ([\d.]+) % of 2000", output, re.MULTILINE))
    assert accuracies.keys() == {"standard", "quest"}
    assert all(float(accuracy) > 40 for accuracy in accuracies.values()), f"chance is 10 %\n{output}"
    assert all(late < early - 0.5 for early, late in zip(rows[0][1:], rows[-1][1:])), output


def test_gpt2_on_a_text(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))))
    output = run("gpt2_text.py", "--text", str(text), "--steps", "200")
    first, last = curve_rows(output)[0], curve_rows(output)[-1]
    assert last[0] == 200 and all(late < early - 1 for early, late in zip(first[1:], last[1:])), output


def test_gpt2_converted(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))))
    size = ("--width", "32", "--layers", "2", "--length", "32", "--seeds", "1")
    output = run("gpt2_convert.py", "--text", str(text), "--steps", "200", "--more-steps", "20", *size)
    losses = re.search(r"loss on the example: ([\d.]+) with standard attention, ([\d.]+) converted", output)
    assert losses is not None and all(1.0 < float(loss) < 4.0 for loss in losses.groups()), output
    rows = re.findall(r"^ *(0|10|20) +([\d.]+) +([\d.]+) +([\d.]+)$", output, re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "10", "20"]
    rises = dict(re.findall(r"^(\w+): loss rises by (-?[\d.]+) at the switch", output, re.MULTILINE))
    assert rises.keys() == {"switched", "converted"}
    first = [float(loss) for loss in rows[0][1:]]
    assert abs(first[2] - first[0] - float(rises["converted"])) < 2e-4


def test_a_text_that_is_too_short(tmp_path):
    (tmp_path / "short.txt").write_text("short")
    command = [sys.executable, str(ROOT / "examples" / "gpt2_text.py"), "--text", str(tmp_path / "short.txt")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1 and "choose a longer text" in result.stderr


def test_cost_of_switching():
    output = run("vit_cost.py", "--layers", "1", "--batch", "1", "--rounds", "3")
    ratios = dict(re.findall(r"^(\S.*?) +([\d.]+)$", output, re.MULTILINE))
    assert list(ratios) == ["standard", "patch", "use", "normalize + torch", "patch + monitor"]
    assert float(ratios["standard"]) == 1.0
