"""What `quest bench data` measures beside: the same files through Pillow, in as many processes.

Its settings are JSON in the only argument. For every line of standard input, the number of one of "names", it answers
with the seconds that one picture takes.
"""

import json
import multiprocessing
import random
import sys
import time

import numpy as np
from PIL import Image

SETTINGS = json.loads(sys.argv[1])


def decode(path):
    return Image.open(path).convert("RGB")


def decode_at_a_scale(path):
    image = Image.open(path)
    shorter, least = min(image.size), SETTINGS["least_side"]
    scale = max([1] + [s for s in (2, 4, 8) if -(-shorter // s) >= least])
    image.draft("RGB", tuple(max(1, side // scale) for side in image.size))
    return image.convert("RGB")


def crop_and_flip(path):
    image, side = decode(path), SETTINGS["side"]
    share = random.uniform(0.3, 1.0) ** 0.5
    width, height = max(1, round(image.width * share)), max(1, round(image.height * share))
    left, top = random.randint(0, image.width - width), random.randint(0, image.height - height)
    image = image.resize((side, side), Image.Resampling.BICUBIC, (left, top, left + width, top + height))
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    array = np.asarray(image, np.float32).transpose(2, 0, 1)
    return np.ascontiguousarray((array / 255 - 0.5) / 0.25)


KINDS = {
    "decoding": decode,
    "decoding at a scale (draft)": decode_at_a_scale,
    "decoding, random crop and flip, array": crop_and_flip,
}


def work(name):
    """How many pictures in how many seconds."""
    kind, done, begin = KINDS[name], 0, time.perf_counter()
    while time.perf_counter() - begin < SETTINGS["seconds"]:
        for path in SETTINGS["files"]:
            kind(path)
        done += len(SETTINGS["files"])
    return done, time.perf_counter() - begin


def main():
    processes = SETTINGS["processes"]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for line in sys.stdin:
            rates = pool.map(work, [SETTINGS["names"][int(line)]] * processes, chunksize=1)
            print(1.0 / sum(done / seconds for done, seconds in rates), flush=True)


main()
