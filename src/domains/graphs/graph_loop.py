"""Training steps of GraphGPS as a plain PyTorch loop: what `quest bench step` measures beside.

Beside the recipe's keys it is told "sizes" (nodes and edges of some graphs of the data set), "outputs", "node_categories",
"node_values", "edge_categories" and "edge_values". Its graphs are as large as those and otherwise random. Nodes are
padded to the largest graph for attention, as the reference code does it; messages are index_add_.
"""

import sys

import torch
import torch.nn.functional as F
from step_loop import read_settings, take_steps
from torch import nn


class GatedGcn(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.a, self.b, self.c, self.d, self.e = (nn.Linear(dim, dim) for _ in range(5))
        self.node_norm, self.edge_norm, self.drop = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim), nn.Dropout(dropout)

    def forward(self, x, edges, source, target):
        gates = self.d(x)[target] + self.e(x)[source] + self.c(edges)
        weights = gates.sigmoid()
        sums = torch.zeros_like(x).index_add_(0, target, weights * self.b(x)[source])
        totals = torch.zeros_like(x).index_add_(0, target, weights)
        nodes = self.a(x) + sums / (totals + 1e-6)
        return x + self.drop(F.relu(self.node_norm(nodes))), edges + self.drop(F.relu(self.edge_norm(gates)))


class Gine(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.mlp, self.drop = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)), nn.Dropout(dropout)

    def forward(self, x, edges, source, target):
        sums = x.index_add(0, target, F.relu(x[source] + edges))
        return x + self.drop(self.mlp(sums)), edges


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        dim = s["dim"]
        self.heads, self.formulation, self.p = s["heads"], s["formulation"], s["attention_dropout"]
        self.messages = (Gine if s["message_passing"] == "gine" else GatedGcn)(dim, s["dropout"])
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm_local, self.norm_attn, self.norm = (nn.BatchNorm1d(dim) for _ in range(3))
        self.up, self.down, self.drop = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim), nn.Dropout(s["dropout"])

    def attend(self, x, place, hidden):
        graphs, longest = hidden.shape
        padded = x.new_zeros(graphs * longest, x.shape[1]).index_copy(0, place, x)
        q, k, v = self.qkv(padded).view(graphs, longest, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.formulation == "quest":
            k, scale = F.normalize(k, dim=-1), 1.0
        else:
            scale = None
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden[:, None, None], dropout_p=p, scale=scale)
        return self.out(y.transpose(1, 2).reshape(graphs * longest, -1)[place])

    def forward(self, x, edges, source, target, place, hidden):
        local, edges = self.messages(x, edges, source, target)
        y = self.norm_local(local) + self.norm_attn(x + self.drop(self.attend(x, place, hidden)))
        return self.norm(y + self.drop(self.down(self.drop(F.relu(self.up(y)))))), edges


class Features(nn.Module):
    """The sum of an embedding for every column, or a linear layer, or one vector for all rows."""

    def __init__(self, categories, values, dim):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(count, dim) for count in categories)
        self.linear = nn.Linear(values, dim) if values else None
        self.vector = nn.Parameter(torch.randn(1, dim)) if not categories and not values else None
        self.categories, self.values = categories, values

    def draw(self, rows, device):
        if self.categories:
            return torch.stack([torch.randint(count, (rows,), device=device) for count in self.categories], 1)
        return torch.randn(rows, self.values, device=device)

    def forward(self, given):
        if self.linear is not None:
            return self.linear(given)
        if self.vector is not None:
            return self.vector.expand(len(given), -1)
        return sum(embedding(given[:, i]) for i, embedding in enumerate(self.embeddings))


class Encoding(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.kind, terms, dim = s["encoding"], s["encoding_terms"], s["encoding_dim"]
        if self.kind == "laplacian":
            self.net = nn.Sequential(nn.Linear(2, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim), nn.ReLU())
        else:
            self.net = nn.Sequential(nn.BatchNorm1d(terms), nn.Linear(terms, dim))

    def forward(self, vectors, values):
        if self.kind != "laplacian":
            return self.net(vectors)
        signs = torch.randint(0, 2, (vectors.shape[1],), device=vectors.device) * 2 - 1
        return self.net(torch.stack([vectors * signs, values], -1)).sum(1)


class Model(nn.Module):
    def __init__(self, settings):
        super().__init__()
        s = settings["model"]
        dim, own = s["dim"], s["dim"] - (s["encoding_dim"] if s["encoding"] != "none" else 0)
        self.nodes = Features(settings["node_categories"], settings["node_values"], own)
        self.edges = Features(settings["edge_categories"], settings["edge_values"], dim)
        self.encoding = Encoding(s) if s["encoding"] != "none" else None
        self.layers = nn.ModuleList(Layer(s) for _ in range(s["depth"]))
        self.pooling, self.kind, self.head = s["pooling"], s["head"], nn.ModuleList()
        for _ in range(1 if self.kind == "pairs" else s["head_layers"]):
            width = dim // 2 if self.kind == "halving" else dim
            self.head.append(nn.Linear(dim, width))
            dim = width
        self.last = None if self.kind == "pairs" else nn.Linear(dim, settings["outputs"])

    def forward(self, b):
        x, edges = self.nodes(b["nodes"]), self.edges(b["edges"])
        if self.encoding is not None:
            x = torch.cat([x, self.encoding(b["vectors"], b["values"])], 1)
        for layer in self.layers:
            x, edges = layer(x, edges, b["source"], b["target"], b["place"], b["hidden"])
        if self.pooling != "none":
            x = x.new_zeros(len(b["count"]), x.shape[1]).index_add_(0, b["graph"], x)
            x = x / b["count"][:, None] if self.pooling == "mean" else x
        for linear in self.head:
            x = F.relu(linear(x)) if self.kind != "pairs" else linear(x)
            x = F.normalize(x, dim=1) if self.kind == "mlp" else x
        return x if self.last is None else self.last(x)


def random_graph(first, nodes, edges, longest, graph):
    source, target = torch.randint(max(nodes, 1), (2, edges)) + first
    return source, target, torch.arange(nodes) + graph * longest


def random_batch(settings, model):
    device, sizes = settings["device"], settings["sizes"]
    sizes = [sizes[i % len(sizes)] for i in range(settings["batch"])]
    count = torch.tensor([nodes for nodes, _ in sizes])
    first = count.cumsum(0) - count
    longest = int(count.max())
    parts = [random_graph(int(f), n, e, longest, g) for g, (f, (n, e)) in enumerate(zip(first, sizes))]
    source, target, place = (torch.cat(part).to(device) for part in zip(*parts))
    terms = settings["model"]["encoding_terms"]
    return {
        "nodes": model.nodes.draw(len(place), device),
        "edges": model.edges.draw(len(source), device),
        "vectors": torch.randn(len(place), terms, device=device),
        "values": torch.rand(len(place), terms, device=device),
        "source": source,
        "target": target,
        "place": place,
        "hidden": (torch.arange(longest) >= count[:, None]).to(device),
        "graph": torch.repeat_interleave(torch.arange(len(count)), count).to(device),
        "count": count.to(device),
    }


def class_loss(classes, rows, device):
    labels = torch.randint(max(classes, 2), (rows,), device=device)

    def loss(logits):
        counts = torch.bincount(labels, minlength=max(classes, 2))
        weights = 1 - counts / rows
        if classes == 1:
            return F.binary_cross_entropy_with_logits(logits[:, 0], labels.float(), weights[labels])
        return F.cross_entropy(logits, labels, weights)

    return loss


def make_loss(settings, b):
    metric, device, graphs, outputs = settings["data"]["metric"], settings["device"], len(b["count"]), settings["outputs"]
    if metric in ("class_accuracy", "f1"):
        return class_loss(outputs, len(b["place"]), device)
    if metric == "accuracy":
        labels = torch.randint(outputs, (graphs,), device=device)
        return lambda logits: F.cross_entropy(logits, labels)
    if metric == "average_precision":
        targets = torch.randint(2, (graphs, outputs), device=device).float()
        return lambda logits: F.binary_cross_entropy_with_logits(logits, targets)
    if metric == "absolute_error":
        targets = torch.randn(graphs, outputs, device=device)
        return lambda given: F.l1_loss(given, targets)
    sys.exit("the PyTorch loop scores no pairs of nodes")


def main():
    settings = read_settings()
    model = Model(settings).to(settings["device"])
    batch = random_batch(settings, model)
    loss = make_loss(settings, batch)
    take_steps(settings, model, lambda: loss(model(batch)))


main()
