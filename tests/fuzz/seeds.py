"""Writes small correct files of every format, from which libFuzzer starts.   Usage: seeds.py FOLDER"""

import json
import pickle
import struct
import sys
import zlib
from pathlib import Path


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def png(depth: int, kind: int, rows: bytes, *chunks: tuple[bytes, bytes], interlace: int = 0) -> bytes:
    """Two by two pixels."""
    head = (b"IHDR", struct.pack(">IIBBBBB", 2, 2, depth, kind, 0, 0, interlace))
    all_chunks = [head, *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    parts = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in all_chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# {"model": OrderedDict(w=a tensor of 2 x 3 floats)}, as torch.save writes it.
PICKLE = (
    b"\x80\x02}q\x00X\x05\x00\x00\x00modelq\x01ccollections\nOrderedDict\nq\x02)Rq\x03X\x01\x00\x00\x00wq\x04"
    b"ctorch._utils\n_rebuild_tensor_v2\nq\x05((X\x07\x00\x00\x00storageq\x06ctorch\nFloatStorage\nq\x07"
    b"X\x01\x00\x00\x000q\x08X\x03\x00\x00\x00cpuq\tK\x06tq\nQK\x00K\x02K\x03\x86q\x0bK\x03K\x01\x86q\x0c\x89h\x02)R"
    b"q\rtq\x0eRq\x0fs}q\x10X\t\x00\x00\x00_metadatah\x02)Rsbs."
)

# A storage of two floats, as torch.save wrote it before 1.6 and Tensor.__reduce__ still does.
STORAGE = (
    pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2)
    + b"\x80\x02(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02NtQ." + pickle.dumps(["0"], 2)
    + struct.pack("<qff", 2, 0.5, 1.5)
)  # fmt: skip
TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(STORAGE)) + STORAGE
    + b"\x85RK\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
)  # fmt: skip
ARRAY = (
    b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01K\x03\x85cnumpy\ndtype\n"
    b"X\x02\0\0\0u1\x89\x88\x87R(K\x03X\x01\0\0\0|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C\x03abctb"
)
COLLATED = (
    b"\x80\x02ctorch_geometric.data.data\nData\n)\x81}X\x06\0\0\0_store}X\x08\0\0\0_mapping}X\x01\0\0\0x" + ARRAY
    + b"sssb}X\x01\0\0\0x](K\x00K\x03es\x86."
)  # fmt: skip
LINES = b"0 2 1 9e83486d a/b.jpg\n2 1 9 06b9df6f c d.png\n"
NODE_TYPES = b"id\ta\n0\t5\n1\t7\n"

SEEDS = {
    "idx": [
        struct.pack(">HBBI", 0, 8, 1, 3) + b"abc",
        struct.pack(">HBBIII", 0, 8, 3, 2, 2, 1) + b"\x01\x02\x03\xff",
    ],
    "images": [
        b"\x03" + bytes(3072),
        b"\x13\x63" + bytes(3072),
        b"0 2 1\n2 1 9\n\0abc",
        LINES + b"end 2 %08x\n\0abc" % zlib.crc32(LINES),
    ],
    "jpeg": [
        bytes.fromhex(
            "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c"
            "3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffc0000b080001000101011100ffc4001400010000"
            "0000000000000000000000000009ffc40014100100000000000000000000000000000000ffda0008010100003f002a9fffd9"
        ),
    ],
    "molecule_lines": [
        b"1.5\tCO\t0,2\t0-1:1\n-2e3\tC\t27\t\r\n",
    ],
    "packed_molecules": [
        b"====".join([b"train\t01\t2\t1\n", NODE_TYPES, NODE_TYPES, b"\x01\0", b"\0\0", b"\x01\0", b"\x01"]),
    ],
    "pickle": [
        PICKLE,
        b"\x80\x02}q\x00(X\x05\x00\x00\x00epochK\x03X\x04\x00\x00\x00argscargparse\nNamespace\n)\x81}X\x02\x00\x00\x00lr"
        b"G?\xe0\x00\x00\x00\x00\x00\x00sbX\x01\x00\x00\x00l](K\x01\x8a\x05\x00\x00\x00\x00\x01J\xff\xff\xff\xffM\x00\x01Neu.",
    ],
    "pickled_graphs": [
        b"\x80\x03]" + TENSOR + b"\x85a.",
        b"\x80\x03]}(X\x01\0\0\0x" + TENSOR + b"X\x01\0\0\0y" + ARRAY + b"ua.",
        COLLATED,
        *(pickle.dumps([{"y": [1, 2, 70000]}, (b"", "a", 0.5, None, True)], protocol) for protocol in (2, 4)),
    ],
    "png": [
        png(8, 2, b"\0abcdef\1abcdef"),
        png(1, 3, b"\0\x80\0\x40", (b"PLTE", b"abcdef"), (b"tRNS", b"\0")),
        png(16, 4, b"\2abcdabcd\4abcdabcd", (b"gAMA", struct.pack(">I", 45455))),
        png(8, 0, b"\0a\0b\0cd", interlace=1),
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
