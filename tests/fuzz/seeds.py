"""Writes small correct files of every format, from which libFuzzer starts.   Usage: seeds.py FOLDER"""

import json
import struct
import sys
from pathlib import Path


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# {"model": OrderedDict(w=a tensor of 2 x 3 floats)}, as torch.save writes it.
PICKLE = (
    b"\x80\x02}q\x00X\x05\x00\x00\x00modelq\x01ccollections\nOrderedDict\nq\x02)Rq\x03X\x01\x00\x00\x00wq\x04"
    b"ctorch._utils\n_rebuild_tensor_v2\nq\x05((X\x07\x00\x00\x00storageq\x06ctorch\nFloatStorage\nq\x07"
    b"X\x01\x00\x00\x000q\x08X\x03\x00\x00\x00cpuq\tK\x06tq\nQK\x00K\x02K\x03\x86q\x0bK\x03K\x01\x86q\x0c\x89h\x02)R"
    b"q\rtq\x0eRq\x0fs}q\x10X\t\x00\x00\x00_metadatah\x02)Rsbs."
)

SEEDS = {
    "idx": [
        struct.pack(">HBBI", 0, 8, 1, 3) + b"abc",
        struct.pack(">HBBIII", 0, 8, 3, 2, 2, 1) + b"\x01\x02\x03\xff",
    ],
    "pickle": [
        PICKLE,
        b"\x80\x02}q\x00(X\x05\x00\x00\x00epochK\x03X\x04\x00\x00\x00argscargparse\nNamespace\n)\x81}X\x02\x00\x00\x00lr"
        b"G?\xe0\x00\x00\x00\x00\x00\x00sbX\x01\x00\x00\x00l](K\x01\x8a\x05\x00\x00\x00\x00\x01J\xff\xff\xff\xffM\x00\x01Neu.",
    ],
    "safetensors": [
        safetensors({}, b""),
        safetensors({"__metadata__": {"format": "pt"}, "w": tensor("F32", [1, 2], 0, 8)}, bytes(8)),
        safetensors({"a": tensor("BF16", [3], 0, 6), "b": tensor("I64", [], 6, 14), "c": tensor("U8", [0], 14, 14)}, bytes(14)),
    ],
    "ts": [
        b"#a\n@problemName x\n@timeStamps false\n@dimensions 2\n@classLabel true a b\n@data\n1,2:3,?:a\n-1.5e3:0:b\n",
        b"@data\n1:2\n",
    ],
}  # fmt: skip

if __name__ == "__main__":
    for kind, contents in SEEDS.items():
        folder = Path(sys.argv[1], kind)
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
