"""What is done to pictures, byte for byte as Pillow does it."""

import io
import math
import os
import random
import subprocess
from pathlib import Path

import numpy
import PIL
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

PROGRAM = os.environ["QUEST_AUGMENT_PICTURES"]
OUTSIDE = (124, 116, 104)
BEGINS_WITH_COLUMNS = int(PIL.__version__.split(".")[0]) >= 13
FILTERS = {0: Image.Resampling.BILINEAR, 1: Image.Resampling.BICUBIC}


def resize(picture: Image.Image, size: tuple[int, int], filter: Image.Resampling) -> Image.Image:
    """Of versions of Pillow that always began with the rows, what one axis after the other gives."""
    (width, height), (to_width, to_height) = picture.size, size
    if BEGINS_WITH_COLUMNS or not (to_height < height and height - to_height > 2 * (width - to_width)):
        return picture.resize(size, filter)
    return picture.resize((width, to_height), filter).resize(size, filter)


def noise(height: int, width: int, seed: int) -> Image.Image:
    return Image.fromarray(numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), numpy.uint8))


def photograph(height: int, width: int, seed: int) -> Image.Image:
    """Smooth shapes in few colours, without the darkest and brightest values, and sharp edges."""
    generator = numpy.random.default_rng(seed)
    rows, columns = numpy.mgrid[:height, :width] / max(height, width)
    planes = [
        128
        + 90 * numpy.sin(rows * generator.uniform(2, 9) + columns * generator.uniform(2, 9) + generator.uniform(0, 6))
        for _ in range(3)
    ]
    picture = numpy.stack(planes, axis=2)
    picture[height // 3 : height // 2, width // 4 : width // 2] = generator.integers(20, 230, 3)
    return Image.fromarray(picture.astype(numpy.uint8))


PICTURES = {
    "photograph": photograph(150, 211, 1),
    "square": photograph(224, 224, 2),
    "noise": noise(61, 47, 3),
    "few_pixels": noise(5, 7, 4),
    "grey": Image.new("RGB", (40, 30), (77, 77, 77)),
    "black": Image.new("RGB", (3, 3)),
    "one_pixel": noise(1, 1, 5),
    "row": noise(1, 300, 6),
    "column": noise(300, 1, 7),
    "two": noise(2, 2, 8),
}


def augment(folder: Path, cases: list[tuple[str, Image.Image, tuple[float, ...]]]) -> list[numpy.ndarray]:
    lines = []
    for i, (operation, picture, numbers) in enumerate(cases):
        picture.save(folder / f"{i}.ppm")
        lines.append(" ".join([operation, f"{folder}/{i}.ppm", f"{folder}/{i}.out.ppm", *map(repr, numbers)]))
    (folder / "cases").write_text("\n".join(lines) + "\n")
    done = subprocess.run([PROGRAM, folder / "cases"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [numpy.array(Image.open(folder / f"{i}.out.ppm")) for i in range(len(cases))]


def assert_same(found: numpy.ndarray, expected: Image.Image, case: object) -> None:
    wanted = numpy.array(expected)
    assert found.shape == wanted.shape, case
    differences = numpy.abs(found.astype(int) - wanted)
    assert differences.max() == 0, (case, f"{(differences > 0).sum()} values differ, by up to {differences.max()}")


def compare(folder: Path, operation: str, pillow, numbers: list[tuple[float, ...]], pictures=tuple(PICTURES)) -> None:
    cases = [(operation, PICTURES[name], own) for name in pictures for own in numbers]
    names = [(operation, name, own) for name in pictures for own in numbers]
    for found, (_, picture, own), name in zip(augment(folder, cases), cases, names, strict=True):
        assert_same(found, pillow(picture, *own), name)


def sizes(picture: Image.Image, generator: random.Random) -> list[tuple[int, int]]:
    width, height = picture.size
    random_ones = [(generator.randint(1, 2 * height), generator.randint(1, 2 * width)) for _ in range(6)]
    return [(1, 1), (height, width), (height, 2 * width + 1), (height // 2 + 1, width), (224, 224), *random_ones]


@pytest.mark.parametrize("bicubic", [0, 1])
def test_resize(tmp_path, bicubic):
    generator = random.Random(bicubic)
    cases, expected = [], []
    for picture in PICTURES.values():
        width, height = picture.size
        for to_height, to_width in sizes(picture, generator):
            top, left = generator.randint(0, height - 1), generator.randint(0, width - 1)
            box = (top, left, generator.randint(1, height - top), generator.randint(1, width - left))
            for own in ((0, 0, height, width), box):
                cases.append(("resize", picture, (bicubic, *own, to_height, to_width)))
                cut = picture.crop((own[1], own[0], own[1] + own[3], own[0] + own[2]))
                expected.append(resize(cut, (to_width, to_height), FILTERS[bicubic]))
    for found, wanted, case in zip(augment(tmp_path, cases), expected, cases, strict=True):
        assert_same(found, wanted, case)


@pytest.mark.parametrize("bicubic", [0, 1])
def test_a_window_of_a_resized_picture_is_a_crop_of_it(tmp_path, bicubic):
    generator = random.Random(10 + bicubic)
    cases, expected = [], []
    for picture in PICTURES.values():
        for height, width in sizes(picture, generator):
            top, left = generator.randint(0, height - 1), generator.randint(0, width - 1)
            window = (top, left, generator.randint(1, height - top), generator.randint(1, width - left))
            cases.append(("window", picture, (bicubic, height, width, *window)))
            whole = resize(picture, (width, height), FILTERS[bicubic])
            expected.append(whole.crop((left, top, left + window[3], top + window[2])))
    for found, wanted, case in zip(augment(tmp_path, cases), expected, cases, strict=True):
        assert_same(found, wanted, case)


def test_evaluation_crop(tmp_path):
    def by_pillow(picture: Image.Image, bicubic: int, shorter: int, side: int) -> Image.Image:
        width, height = picture.size
        size = (shorter, shorter * height // width) if width < height else (shorter * width // height, shorter)
        top, left = round((size[1] - side) / 2), round((size[0] - side) / 2)
        return resize(picture, size, FILTERS[bicubic]).crop((left, top, left + side, top + side))

    compare(tmp_path, "centre", by_pillow, [(1, 256, 224), (1, 274, 240), (0, 33, 32), (1, 40, 40), (1, 7, 1)])


def enhancement(kind):
    return lambda picture, m: kind(picture).enhance(1.0 + m / 10 * 0.9)


def shift(picture: Image.Image, *matrix: float) -> Image.Image:
    return picture.transform(picture.size, Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC, fillcolor=OUTSIDE)


OPERATIONS = {
    "AutoContrast": lambda picture, _: ImageOps.autocontrast(picture),
    "Equalize": lambda picture, _: ImageOps.equalize(picture),
    "Invert": lambda picture, _: ImageOps.invert(picture),
    "Rotate": lambda picture, m: picture.rotate(m / 10 * 30, Image.Resampling.BICUBIC, fillcolor=OUTSIDE),
    "PosterizeIncreasing": lambda picture, m: picture.point(
        [i & ~(2 ** (4 + int(m / 10 * 4)) - 1) for i in range(256)] * 3
    ),
    "SolarizeIncreasing": lambda picture, m: ImageOps.solarize(picture, 256 - int(m / 10 * 256)),
    "SolarizeAdd": lambda picture, m: picture.point(
        [min(255, i + int(m / 10 * 110)) if i < 128 else i for i in range(256)] * 3
    ),
    "ColorIncreasing": enhancement(ImageEnhance.Color),
    "ContrastIncreasing": enhancement(ImageEnhance.Contrast),
    "BrightnessIncreasing": enhancement(ImageEnhance.Brightness),
    "SharpnessIncreasing": enhancement(ImageEnhance.Sharpness),
    "ShearX": lambda picture, m: shift(picture, 1, m / 10 * 0.3, 0, 0, 1, 0),
    "ShearY": lambda picture, m: shift(picture, 1, 0, 0, m / 10 * 0.3, 1, 0),
    "TranslateXRel": lambda picture, m: shift(picture, 1, 0, m / 10 * 0.45 * picture.width, 0, 1, 0),
    "TranslateYRel": lambda picture, m: shift(picture, 1, 0, 0, 0, 1, m / 10 * 0.45 * picture.height),
}
ONE_WAY = ("AutoContrast", "Equalize", "Invert", "PosterizeIncreasing", "SolarizeIncreasing", "SolarizeAdd")


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_rand_augment(tmp_path, name):
    magnitudes = [0.0, 0.31, 2.5, 5.0, 8.7, 9.0, 9.013, 9.99, 10.0]
    if name not in ONE_WAY:
        magnitudes += [-m for m in magnitudes[1:]]
    compare(tmp_path, name, OPERATIONS[name], [(m,) for m in magnitudes])


def test_posterize_is_that_of_image_ops(tmp_path):
    compare(tmp_path, "PosterizeIncreasing", lambda picture, m: ImageOps.posterize(picture, 4 - int(m / 10 * 4)),
            [(m,) for m in (0.0, 2.5, 5.0, 9.0)])  # fmt: skip


def test_blur(tmp_path):
    compare(tmp_path, "blur", lambda picture, radius: picture.filter(ImageFilter.GaussianBlur(radius)),
            [(r,) for r in (0.1, 0.37, 0.5, 0.8, 1.0, 1.234, 1.7, 2.0, 3.3, 7.0)])  # fmt: skip


def test_colors(tmp_path):
    factors = [(f,) for f in (0.0, 0.5, 0.7, 0.93, 1.0, 1.17, 1.3, 2.0)]
    compare(tmp_path, "grey", lambda picture: picture.convert("L").convert("RGB"), [()])
    compare(tmp_path, "mirror", ImageOps.mirror, [()])
    compare(tmp_path, "solarize", ImageOps.solarize, [(128,)])
    for name in ("brightness", "contrast", "color"):
        kind = getattr(ImageEnhance, name.capitalize())
        compare(tmp_path, name, lambda picture, factor, kind=kind: kind(picture).enhance(factor), factors)


def photographs() -> list[Image.Image]:
    folder = Path(__file__).parents[3] / "shared" / "data" / "raccoon_boxes"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    pack = (folder / "images.jpgs").read_bytes()
    lines = (folder / "images.idx").read_text().splitlines()[::9]
    places = [tuple(map(int, line.split()[:2])) for line in lines]
    return [Image.open(io.BytesIO(pack[offset : offset + length])).convert("RGB") for offset, length in places]


def test_photographs(tmp_path):
    """A crop as in training, and the operations that round the most."""
    cases, expected = [], []
    for picture in photographs():
        width, height = picture.size
        box = (height // 5, width // 7, math.ceil(height * 0.6), math.ceil(width * 0.7))
        cases.append(("resize", picture, (1, *box, 224, 224)))
        cut = picture.crop((box[1], box[0], box[1] + box[3], box[0] + box[2]))
        resized = resize(cut, (224, 224), Image.Resampling.BICUBIC)
        expected.append(resized)
        for name in ("Rotate", "ShearX", "ShearY", "SharpnessIncreasing", "ColorIncreasing", "Equalize"):
            cases.append((name, resized, (9.1,)))
            expected.append(OPERATIONS[name](resized, 9.1))
    for found, wanted, case in zip(augment(tmp_path, cases), expected, cases, strict=True):
        assert_same(found, wanted, case)
