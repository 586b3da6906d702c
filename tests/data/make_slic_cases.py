"""Writes slic.json: small images and how scikit-image cuts them up.   Needs scikit-image.

Every image has 0 and 255 in it, and as many segments are asked for as the grid has centres: later versions of
scikit-image, which stretch the colours and expect other sizes of segments, then find what 0.15 did.
"""

import json
from pathlib import Path

import numpy
from scipy.ndimage import gaussian_filter
from skimage import __version__
from skimage.segmentation import slic


def case(generator: numpy.random.Generator, height: int, width: int, blur: float, wanted: int) -> dict:
    image = gaussian_filter(generator.random((height, width, 3)), (blur, blur, 0))
    image = numpy.rint(255 * (image - image.min()) / (image.max() - image.min())).astype(numpy.uint8)
    colours = (image / 255).astype(numpy.float32).astype(numpy.float64)
    labels = slic(colours, n_segments=wanted, compactness=10, start_label=0, channel_axis=-1)
    return {
        "height": height,
        "width": width,
        "wanted": wanted,
        "pixels": image.ravel().tolist(),
        "labels": labels.ravel().tolist(),
    }


if __name__ == "__main__":
    random = numpy.random.default_rng(3)
    cases = [
        case(random, *each) for each in ((32, 32, 1.5, 121), (32, 32, 0.5, 64), (24, 16, 1.0, 24), (16, 16, 0.0, 64))
    ]
    content = {"made_by": f"make_slic_cases.py with scikit-image {__version__}", "cases": cases}
    Path(__file__).with_name("slic.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
