"""Pictures have the same bytes out of our readers and out of Pillow."""

import io
import itertools
import os
import re
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")
DECODE = os.environ["QUEST_DECODE_PICTURE"]
PACK = os.environ["QUEST_PACK_IMAGES"]
PAGE = Path(__file__).parents[2] / "docs" / "image-data.md"


def decoded(path: Path, least_side: int = 0) -> np.ndarray:
    answer = subprocess.run([DECODE, path, str(least_side)], check=True, capture_output=True).stdout
    shape, pixels = answer.split(b"\n", 1)
    return np.frombuffer(pixels, np.uint8).reshape(*map(int, shape.split()), 3)


def refusal(path: Path) -> str:
    result = subprocess.run([DECODE, path], capture_output=True, text=True)
    assert result.returncode == 1
    return result.stderr


def photo(width: int, height: int) -> Image.Image:
    """Something smooth with an edge and a little noise, so that every scale and colour has something to say."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (3 + 5 * colour)) * np.cos(y / (7 - 2 * colour)) for colour in range(3)]
    noise = np.random.default_rng(0).normal(0, 9, (height, width, 3))
    picture = 128 + 90 * np.stack(waves, -1) + noise + 40 * (x > 2 * y)[..., None]
    return Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8))


KINDS = {
    "4:4:4": {"subsampling": 0},
    "4:2:2": {"subsampling": 1},
    "4:2:0": {"subsampling": 2},
    "progressive": {"progressive": True},
    "optimized": {"optimize": True, "quality": 95},
    "restarts": {"restart_marker_rows": 1},
    "poor": {"quality": 10},
    "rgb": {"keep_rgb": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(123, 77), (16, 16), (1, 1), (200, 31)])
def test_jpeg(tmp_path, kind, size):
    path = tmp_path / "a.jpg"
    photo(*size).save(path, **KINDS[kind])
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_jpeg_of_other_colours(tmp_path, mode):
    path = tmp_path / "a.jpg"
    photo(61, 45).convert(mode).save(path, quality=90)
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "scale"), list(itertools.product([(123, 77), (512, 384)], [1, 2, 4, 8])))
def test_scaled_jpeg(tmp_path, kind, size, scale):
    path = tmp_path / "a.jpg"
    photo(*size).save(path, **KINDS[kind])
    draft = Image.open(path)
    draft.draft("RGB", (max(1, size[0] // scale), max(1, size[1] // scale)))
    expected = np.asarray(draft.convert("RGB"))
    assert draft.size == tuple(-(-side // scale) for side in size)
    # Asked for what this scale has, we take it; for one pixel more, the next larger one.
    np.testing.assert_array_equal(decoded(path, min(expected.shape[:2])), expected)
    if scale > 1:
        assert min(decoded(path, min(expected.shape[:2]) + 1).shape[:2]) == -(-min(size) // (scale // 2))


def test_scaled_jpeg_is_never_enlarged(tmp_path):
    path = tmp_path / "a.jpg"
    photo(40, 30).save(path)
    assert decoded(path, 224).shape == (30, 40, 3)


def test_cmyk_scaled(tmp_path):
    path = tmp_path / "a.jpg"
    photo(64, 48).convert("CMYK").save(path)
    draft = Image.open(path)
    draft.draft(None, (32, 24))
    np.testing.assert_array_equal(decoded(path, 24), np.asarray(draft.convert("RGB")))


def png(size: tuple[int, int], depth: int, kind: int, rows: bytes, *chunks: tuple[bytes, bytes], interlace=0) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", *size, depth, kind, 0, 0, interlace)
    parts = [
        chunk(b"IHDR", head),
        *itertools.starmap(chunk, chunks),
        chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PALETTE = (b"PLTE", bytes(range(7, 7 + 3 * 16)))
PNG_KINDS = [
    *((depth, 0, ()) for depth in (1, 2, 4, 8)),
    *((depth, 2, ()) for depth in (8, 16)),
    *((depth, 3, (PALETTE,)) for depth in (1, 2, 4)),
    (4, 3, (PALETTE, (b"tRNS", b"\x00\x80\xff"))),
    (8, 0, ((b"tRNS", b"\x00\x05"),)),
    (8, 2, ((b"gAMA", struct.pack(">I", 45455)), (b"sRGB", b"\0"))),
    *((depth, kind, ()) for depth in (8, 16) for kind in (4, 6)),
]


@pytest.mark.parametrize(("depth", "kind", "chunks"), PNG_KINDS)
@pytest.mark.parametrize("size", [(13, 9), (1, 1)])
def test_png(tmp_path, depth, kind, chunks, size):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    row_bytes = -(-size[0] * channels * depth // 8)
    random = np.random.default_rng(depth + kind)
    rows = b"".join(b"\0" + random.bytes(row_bytes) for _ in range(size[1]))
    path = tmp_path / "a.png"
    path.write_bytes(png(size, depth, kind, rows, *chunks))
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_png_of_pillow(tmp_path, mode):
    path = tmp_path / "a.png"
    photo(57, 33).convert(mode).save(path)
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(path).convert("RGB")))


def test_interlaced_png(tmp_path):
    """Adam7 of 3 x 1 pixels: its first pass holds pixel 0, the fourth pixel 2, the sixth pixel 1."""
    path = tmp_path / "a.png"
    path.write_bytes(png((3, 1), 8, 2, b"\0\1\2\3" + b"\0\7\7\x08" + b"\0\4\5\6", interlace=1))
    np.testing.assert_array_equal(decoded(path), [[[1, 2, 3], [4, 5, 6], [7, 7, 8]]])
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(path).convert("RGB")))


def test_grey_of_16_bits_keeps_the_upper_8(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png((3, 1), 16, 0, b"\0" + struct.pack(">3H", 0x00FF, 0x1234, 0xFFFF)))
    np.testing.assert_array_equal(decoded(path)[0, :, 0], [0x00, 0x12, 0xFF])


def encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    photo(64, 64).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_cut_off(tmp_path, kind, share):
    path = tmp_path / "a"
    content = encoded(kind)
    path.write_bytes(content[: int(len(content) * share)])
    assert f"{kind}: " in refusal(path)


def test_broken_bytes_inside(tmp_path):
    path = tmp_path / "a"
    content = bytearray(encoded("PNG"))
    content[len(content) // 2] ^= 0x55
    path.write_bytes(content)
    assert "PNG: " in refusal(path)
    content = bytearray(encoded("JPEG"))
    content[len(content) // 2 : len(content) // 2 + 2] = b"\xff\xd0"
    path.write_bytes(content)
    assert "JPEG: Corrupt JPEG data" in refusal(path)


def test_bytes_that_do_not_matter(tmp_path):
    """Extra bytes before the end marker, which some cameras write, take nothing away."""
    path = tmp_path / "a.jpg"
    content = encoded("JPEG")
    path.write_bytes(content[:-2] + b"\0\0\0\0" + content[-2:])
    np.testing.assert_array_equal(decoded(path), np.asarray(Image.open(io.BytesIO(content))))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "a file of 0 bytes"),
        (bytes(100), "nothing but zeros"),
        (b"GIF89a....", "a GIF"),
        (b"RIFF\0\0\0\0WEBP", "a RIFF file, such as WebP"),
        (b"<!DOCTYPE html>", "a page of HTML"),
        (b"hello there", 'a file that begins with "hello th"'),
    ],
)
def test_no_picture(tmp_path, content, what):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    assert refusal(path) == f"expected a JPEG or PNG picture, found {what}\n"


def test_huge_claims_cost_no_memory(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png((60000, 60000), 8, 2, b"\0\1\2\3"))
    assert refusal(path) == "expected a picture of 1 to 67108864 pixels, found 60000 x 60000\n"
    content = encoded("JPEG")
    frame = content.index(b"\xff\xc0") + 5
    path.write_bytes(content[:frame] + struct.pack(">HH", 60000, 60000) + content[frame + 4 :])
    assert refusal(path) == "expected a picture of 1 to 67108864 pixels, found 60000 x 60000\n"


def test_pack_is_as_the_page_says(tmp_path):
    """The page's own reader finds every file; the sums are those of zlib."""
    for split, number in itertools.product(("train", "val"), range(7)):
        path = tmp_path / "from" / split / ("ab" if number < 4 else "c d") / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        photo(9 + number, 8).save(path)
    subprocess.run([PACK, tmp_path / "from", tmp_path / "to"], check=True)
    page = {}
    exec(re.search(r"```python\n(def read_pack.*?)```", PAGE.read_text(), re.S)[1], page)
    assert (tmp_path / "to" / "classes.txt").read_text() == "ab\nc d\n"
    for split in ("train", "val"):
        images = list(page["read_pack"](tmp_path / "to", split))
        assert sorted(name for name, _, _ in images) == [f"{'ab' if i < 4 else 'c d'}/{i}.jpg" for i in range(7)]
        for name, label, content in images:
            assert label == (name[0] == "c")
            assert content == (tmp_path / "from" / split / name).read_bytes()
        lines = (tmp_path / "to" / f"{split}.idx").read_text().splitlines(keepends=True)
        assert [int(line.split()[3], 16) for line in lines[:-1]] == [zlib.crc32(content) for _, _, content in images]
        assert lines[-1] == f"end 7 {zlib.crc32(''.join(lines[:-1]).encode()):08x}\n"
