"""Graph benchmarks in the files in which Python programs publish them come out of our readers as they went in."""

import os
import pickle
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy
import pytest
import torch
from safetensors import safe_open

PACK = os.environ["QUEST_PACK_GRAPHS"]
DOCS = Path(__file__).parents[2] / "docs" / "graph-data.md"
SPLITS = {"train": 4, "val": 2, "test": 3}


def run(name: str, folder: Path, out: Path) -> subprocess.CompletedProcess:
    environment = os.environ | {"XDG_CACHE_HOME": str(out.parent / "cache")}
    return subprocess.run([PACK, name, folder, out], capture_output=True, text=True, env=environment)


def pack(name: str, folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    out = folder.parent / "out.safetensors"
    result = run(name, folder, out)
    assert result.returncode == 0, result.stderr
    with safe_open(out, "pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()


def refusal(name: str, folder: Path) -> str:
    result = run(name, folder, folder.parent / "out.safetensors")
    assert result.returncode == 1
    return result.stderr


def make_graphs(count: int, seed: int, kind: str) -> list[dict[str, torch.Tensor]]:
    """Undirected random graphs with the tensors that the kind has."""
    generator = torch.Generator().manual_seed(seed)

    def integers(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=generator)

    graphs = []
    for _ in range(count):
        nodes = int(integers(9, 1)) + 2
        is_edge = torch.rand(nodes, nodes, generator=generator).lt(0.4).triu(1)
        edge_index = (is_edge | is_edge.t()).nonzero().t().contiguous()
        edges = edge_index.shape[1]
        graph = {"edge_index": edge_index}
        if kind == "zinc":
            graph |= {
                "x": integers(28, nodes, 1),
                "edge_attr": integers(3, edges) + 1,
                "y": torch.rand(1, generator=generator),
            }
        elif kind == "one hot":
            graph |= {"x": torch.nn.functional.one_hot(integers(7, nodes), 7).float(), "y": integers(6, nodes)}
        elif kind == "superpixels":
            graph |= {"x": torch.rand(nodes, 3, generator=generator), "pos": torch.rand(nodes, 2, generator=generator),
                      "edge_attr": torch.rand(edges, generator=generator), "y": integers(10, 1)}  # fmt: skip
        elif kind == "voc":
            graph |= {"x": torch.randn(nodes, 14, generator=generator), "y": integers(21, nodes),
                      "edge_attr": torch.randn(edges, 2, generator=generator)}  # fmt: skip
        else:
            atoms = torch.stack([integers(high, nodes) for high in (119, 4, 12, 12, 10, 6, 6, 2, 2)], 1)
            bonds = torch.stack([integers(high, edges) for high in (5, 6, 2)], 1)
            graph |= {"x": atoms, "edge_attr": bonds}
            if kind == "contact":
                graph |= {"edge_label_index": integers(nodes, 2, 5), "edge_label": integers(2, 5)}
            else:
                outputs = 10 if kind == "func" else 11
                graph["y"] = torch.randn(1, outputs, generator=generator)
        graphs.append(graph)
    return graphs


def splits_of(kind: str) -> dict[str, list[dict[str, torch.Tensor]]]:
    return {name: make_graphs(count, seed, kind) for seed, (name, count) in enumerate(SPLITS.items())}


def assert_holds(found: dict[str, torch.Tensor], splits: dict[str, list[dict[str, torch.Tensor]]]) -> None:
    """The packed set against the graphs one by one: edges sorted by target, stably."""
    graphs = [graph for split in splits.values() for graph in split]
    offsets, in_edges = found["offsets"], found["in_edges"]
    assert len(offsets) == len(graphs) + 1
    for number, graph in enumerate(graphs):
        first, last = offsets[number], offsets[number + 1]
        assert last - first == graph["x"].shape[0]
        order = graph["edge_index"][1].argsort(stable=True)
        edges = slice(in_edges[first], in_edges[last])
        assert torch.equal(found["source"][edges].long(), graph["edge_index"][0][order])
        degrees = torch.bincount(graph["edge_index"][1], minlength=int(last - first))
        assert torch.equal(in_edges[first : last + 1].diff(), degrees)
        if "node_ids" in found:
            assert torch.equal(found["node_ids"][first:last].long(), graph["x"])
        else:
            assert torch.equal(found["node_values"][first:last], graph["x"])
        if "edge_attr" in graph:
            edge_rows = graph["edge_attr"][order]
            edge_rows = edge_rows if edge_rows.dim() == 2 else edge_rows.unsqueeze(1)
        if "edge_ids" in found:
            assert torch.equal(found["edge_ids"][edges].long(), edge_rows)
        if "edge_values" in found:
            assert torch.equal(found["edge_values"][edges], edge_rows)
        if "pair_offsets" in found:
            pairs = slice(found["pair_offsets"][number], found["pair_offsets"][number + 1])
            assert torch.equal(found["pair_source"][pairs].long(), graph["edge_label_index"][0])
            assert torch.equal(found["pair_target"][pairs].long(), graph["edge_label_index"][1])
            assert torch.equal(found["pair_label"][pairs].long(), graph["edge_label"])
        elif len(found["labels"]) == offsets[-1] and len(found["labels"]) != len(graphs):
            assert torch.equal(found["labels"][first:last].long(), graph["y"])
        else:
            assert torch.equal(found["labels"][number].reshape(-1).to(graph["y"].dtype), graph["y"].reshape(-1))


# ---- PyTorch Geometric, as far as its pickles know it


def geometric(*names: str) -> types.ModuleType:
    module = types.ModuleType(names[0])
    for name in names[1:]:
        module.__dict__[name] = type(name, (), {"__module__": names[0]})
    sys.modules[names[0]] = module
    return module


class Geometric:
    def __enter__(self):
        geometric("torch_geometric")
        self.data = geometric("torch_geometric.data.data", "Data").Data
        self.storage = geometric("torch_geometric.data.storage", "GlobalStorage").GlobalStorage
        return self

    def __exit__(self, *_):
        for name in [name for name in sys.modules if name.startswith("torch_geometric")]:
            del sys.modules[name]


def collated(graphs: list[dict[str, torch.Tensor]]) -> tuple[dict, dict]:
    data, slices = {}, {}
    for name in graphs[0]:
        dimension = 1 if "index" in name else 0
        data[name] = torch.cat([graph[name] for graph in graphs], dimension)
        slices[name] = torch.tensor([0] + [graph[name].shape[dimension] for graph in graphs]).cumsum(0)
    return data, slices


def save_collated(path: Path, graphs: list[dict[str, torch.Tensor]], form: str) -> None:
    data, slices = collated(graphs)
    with Geometric() as names:
        if form == "dict":
            return torch.save((data | {"num_nodes": None}, slices, names.data), path)
        holder = names.data()
        if form == "attributes":
            holder.__dict__.update(data | {"normal": None})
        else:
            store = names.storage()
            store.__dict__.update({"_mapping": data, "_parent": None})
            holder.__dict__.update({"_store": store})
        torch.save((holder, slices), path)


@pytest.mark.parametrize("form", ["attributes", "store", "dict"])
@pytest.mark.parametrize(("name", "kind"), [("ZINC", "zinc"), ("PCQM-Contact", "contact"), ("PascalVOC-SP", "voc")])
def test_what_pytorch_geometric_makes(tmp_path, form, name, kind):
    (tmp_path / "in" / "processed").mkdir(parents=True)
    splits = splits_of(kind)
    for split, graphs in splits.items():
        save_collated(tmp_path / "in" / "processed" / f"{split}.pt", graphs, form)
    found, metadata = pack(name, tmp_path / "in")
    assert_holds(found, splits)
    assert metadata["splits"] == "train 0 4 validation 4 6 test 6 9"


def test_real_pytorch_geometric(tmp_path):
    geometric_data = pytest.importorskip("torch_geometric.data")
    (tmp_path / "in").mkdir()
    splits = splits_of("zinc")
    for split, graphs in splits.items():
        graphs = [geometric_data.Data(**graph) for graph in graphs]
        geometric_data.InMemoryDataset.save(graphs, tmp_path / "in" / f"{split}.pt")
    assert_holds(pack("ZINC", tmp_path / "in")[0], splits)


# ---- the raw files


def test_raw_dicts_of_the_gnn_benchmark(tmp_path):
    (tmp_path / "in" / "raw").mkdir(parents=True)
    splits = splits_of("one hot")
    for split, graphs in splits.items():
        torch.save(graphs, tmp_path / "in" / "raw" / f"CLUSTER_{split}.pt")
    found, _ = pack("CLUSTER", tmp_path / "in")
    for graphs in splits.values():
        for graph in graphs:
            graph["x"] = graph["x"].argmax(1, keepdim=True)
    assert_holds(found, splits)


def test_raw_superpixels_with_places_apart(tmp_path):
    (tmp_path / "in").mkdir()
    splits = splits_of("superpixels")
    for split, graphs in splits.items():
        torch.save(graphs, tmp_path / "in" / f"CIFAR10_{split}.pt")
    found, _ = pack("CIFAR10", tmp_path / "in")
    for graphs in splits.values():
        for graph in graphs:
            graph["x"] = torch.cat([graph["x"], graph["pos"]], 1)
    assert_holds(found, splits)


def tuple_of(graph: dict[str, torch.Tensor], names: str, label=lambda y: y) -> tuple:
    return tuple(label(graph[name]) if name == "y" else graph[name] for name in names.split())


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("Peptides-func", "func", "x edge_attr edge_index y"),
        ("PCQM-Contact", "contact", "x edge_attr edge_index edge_label_index edge_label"),
    ],
)
def test_raw_tuples_of_the_long_range_benchmark(tmp_path, name, kind, fields):
    (tmp_path / "in").mkdir()
    splits = splits_of(kind)
    for split, graphs in splits.items():
        torch.save([tuple_of(graph, fields) for graph in graphs], tmp_path / "in" / f"{split}.pt")
    assert_holds(pack(name, tmp_path / "in")[0], splits)


def test_targets_of_peptides_struct_are_standardised_over_all_splits(tmp_path):
    (tmp_path / "in").mkdir()
    splits = splits_of("struct")
    for split, graphs in splits.items():
        torch.save([tuple_of(graph, "x edge_attr edge_index y") for graph in graphs], tmp_path / "in" / f"{split}.pt")
    found, _ = pack("Peptides-struct", tmp_path / "in")
    targets = torch.cat([graph["y"] for graphs in splits.values() for graph in graphs]).double()
    torch.testing.assert_close(found["labels"].double(), (targets - targets.mean(0)) / targets.std(0))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("label", [torch.Tensor.tolist, torch.Tensor.numpy, lambda y: y, lambda y: list(y.numpy())])
def test_pickles_of_superpixels(tmp_path, protocol, label):
    (tmp_path / "in").mkdir()
    splits = splits_of("voc")
    for split, graphs in splits.items():
        content = [tuple_of(graph, "x edge_attr edge_index y", label) for graph in graphs]
        (tmp_path / "in" / f"{split}.pickle").write_bytes(pickle.dumps(content, protocol))
    assert_holds(pack("PascalVOC-SP", tmp_path / "in")[0], splits)


def test_labels_of_raw_coco_lose_their_gaps(tmp_path):
    (tmp_path / "in").mkdir()
    things = [i for i in range(91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
    nodes = len(things)
    none = torch.empty(2, 0, dtype=torch.long)
    graph = (torch.zeros(nodes, 14), torch.zeros(0, 2), none, things)
    for split in SPLITS:
        (tmp_path / "in" / f"{split}.pickle").write_bytes(pickle.dumps([graph]))
    assert pack("COCO-SP", tmp_path / "in")[0]["labels"].tolist() == 3 * list(range(81))


def test_raw_zinc_with_its_subset(tmp_path):
    (tmp_path / "in").mkdir()
    splits = splits_of("zinc")
    for split, graphs in splits.items():
        molecules = []
        for graph in graphs:
            # The order of nonzero() of the matrix is that of the edges.
            bonds = torch.zeros(len(graph["x"]), len(graph["x"]), dtype=torch.long)
            bonds[graph["edge_index"][0], graph["edge_index"][1]] = graph["edge_attr"]
            molecules.append({"num_atom": len(graph["x"]), "bond_type": bonds.int(), "atom_type": graph["x"].flatten().int(),
                              "logP_SA_cycle_normalized": graph["y"]})  # fmt: skip
        (tmp_path / "in" / f"{split}.pickle").write_bytes(pickle.dumps(molecules))
        chosen = list(range(len(graphs)))[::-1][:2]
        (tmp_path / "in" / f"{split}.index").write_text(",".join(map(str, chosen)) + "\n")
        splits[split] = [graphs[i] for i in chosen]
    assert_holds(pack("ZINC", tmp_path / "in")[0], splits)
    (tmp_path / "in" / "val.index").write_text("0,7\n")
    assert "asks for graph 7" in refusal("ZINC", tmp_path / "in")


# ---- what is refused


class Command:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def save_voc(folder: Path, change=lambda graph: graph, extra=None) -> None:
    folder.mkdir(exist_ok=True)
    for split, graphs in splits_of("voc").items():
        graphs = [change(graph) for graph in graphs] if split == "test" else graphs
        content = [tuple_of(graph, "x edge_attr edge_index y") for graph in graphs]
        (folder / f"{split}.pickle").write_bytes(pickle.dumps(content if extra is None else [*content, extra]))


def test_nothing_is_executed(tmp_path):
    save_voc(tmp_path / "in", extra=Command(tmp_path / "marker"))
    assert "posix.system" in refusal("PascalVOC-SP", tmp_path / "in")
    assert not (tmp_path / "marker").exists()


def test_what_is_wrong_is_named(tmp_path):
    def changed(name, change):
        save_voc(tmp_path / "in", lambda graph: graph | {name: change(graph[name].clone())})
        return refusal("PascalVOC-SP", tmp_path / "in")

    folder = tmp_path / "in"
    assert f'{folder}/test.pickle": entry ' in changed("edge_index", lambda x: x + 100)
    assert "leads from node" in changed("edge_index", lambda x: x + 100)
    assert 'in "labels"; expected 0 to 20' in changed("y", lambda x: x + 21)
    assert 'rows of "labels"' in changed("y", lambda x: x[1:])
    assert 'of "node_values" holds NaN' in changed("x", lambda x: x.index_fill(0, torch.tensor([1]), numpy.nan))
    assert "with a row of sources and one of targets" in changed("edge_index", lambda x: x.t())


@pytest.mark.parametrize("form", ["pickle", "pt"])
def test_truncated_files(tmp_path, form):
    folder = tmp_path / "in"
    if form == "pickle":
        save_voc(folder)
    else:
        folder.mkdir()
        for split, graphs in splits_of("voc").items():
            torch.save([tuple_of(graph, "x edge_attr edge_index y") for graph in graphs], folder / f"{split}.pt")
    content = (folder / f"val.{form}").read_bytes()
    for length in range(0, len(content), len(content) // 7):
        (folder / f"val.{form}").write_bytes(content[:length])
        assert f"val.{form}" in refusal("PascalVOC-SP", folder)


def test_other_programs_graphs_are_refused_by_name(tmp_path):
    module = types.ModuleType("dgl")
    module.DGLGraph = type("DGLGraph", (), {"__module__": "dgl"})
    sys.modules["dgl"] = module
    try:
        (tmp_path / "in").mkdir()
        for split in SPLITS:
            (tmp_path / "in" / f"{split}.pickle").write_bytes(pickle.dumps([module.DGLGraph()]))
    finally:
        del sys.modules["dgl"]
    assert "dgl.DGLGraph" in refusal("PATTERN", tmp_path / "in")


# ---- the plain layout


def test_the_script_of_the_docs_writes_what_we_read(tmp_path):
    (tmp_path / "in").mkdir()
    splits = splits_of("voc")
    script = re.search(r"```python\n(# Writes a set.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    scope = {}
    exec(script, scope)
    named = {{"val": "validation"}.get(split, split): graphs for split, graphs in splits.items()}
    scope["write_graphs"](
        tmp_path / "in" / "PascalVOC-SP.safetensors", named, name="PascalVOC-SP", task="node_classes", outputs=21
    )
    assert_holds(pack("PascalVOC-SP", tmp_path / "in")[0], splits)
