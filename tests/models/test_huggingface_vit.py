"""Our ViT and the Hugging Face one with the same weights: logits, loss and every gradient.

The program in MODEL_STEP reads images and labels from a safetensors file and weights from one of the kinds that public
models come in, and writes what it computed to another.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AttentionInterface, ViTConfig, ViTForImageClassification

SIZES = {"image_size": 28, "patch_size": 7, "channels": 3, "classes": 10, "dim": 48, "depth": 3, "heads": 4}
# Float32 against float64, as a share of the largest element.
TOLERANCE = 1e-5

NAMES = [
    (r"^vit\.embeddings\.cls_token", "cls_token"),
    (r"^vit\.embeddings\.position_embeddings", "pos_embed"),
    (r"^vit\.embeddings\.patch_embeddings\.projection", "patch_embed.proj"),
    (r"^vit\.(encoder\.layer|layers)\.", "blocks."),
    (r"\.layernorm_before\.", ".norm1."),
    (r"\.layernorm_after\.", ".norm2."),
    (r"\.attention\.output\.dense\.|\.attention\.o_proj\.", ".attn.proj."),
    (r"\.intermediate\.dense\.|\.mlp\.fc1\.", ".mlp.fc1."),
    (r"\.output\.dense\.|\.mlp\.fc2\.", ".mlp.fc2."),
    (r"^vit\.layernorm\.", "norm."),
    (r"^classifier\.", "head."),
]
QUERY = re.compile(r"\.attention\.(attention\.query|q_proj)\.")


def plain_quest(module, query, key, value, attention_mask, **_):
    key = key / key.norm(dim=-1, keepdim=True)
    weights = (query @ key.transpose(-1, -2)).softmax(-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


AttentionInterface.register("plain_quest", plain_quest)


def timm_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Parameters, or their gradients, under timm's names; queries, keys and values in one tensor."""
    result = {}
    for name, tensor in tensors.items():
        if re.search(r"\.(key|value|k_proj|v_proj)\.", name):
            continue
        if QUERY.search(name):
            parts = [name.replace("query", part).replace("q_proj", f"{part[0]}_proj") for part in ("key", "value")]
            tensor = torch.cat([tensor, *(tensors[part] for part in parts)])
            name = QUERY.sub(".attn.qkv.", name)
        for pattern, replacement in NAMES:
            name = re.sub(pattern, replacement, name)
        result[name] = tensor
    return result


def hugging_face_step(attention: str, images: Tensor, labels: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    torch.manual_seed(3)
    config = ViTConfig(
        hidden_size=SIZES["dim"],
        num_hidden_layers=SIZES["depth"],
        num_attention_heads=SIZES["heads"],
        intermediate_size=4 * SIZES["dim"],
        image_size=SIZES["image_size"],
        patch_size=SIZES["patch_size"],
        num_channels=SIZES["channels"],
        num_labels=SIZES["classes"],
        layer_norm_eps=1e-6,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation=attention,
    )
    model = ViTForImageClassification(config)
    with torch.no_grad():  # away from the starts, where biases are 0 and attention is flat
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    weights = timm_tensors({name: p.detach().clone() for name, p in model.named_parameters()})
    model = model.double()
    logits = model(images.double()).logits
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    gradients = timm_tensors({name: p.grad for name, p in model.named_parameters()})
    results = {"logits": logits.detach(), "loss": loss.detach(), **{f"grad.{n}": g for n, g in gradients.items()}}
    return weights, results


def save_as_timm(weights: dict[str, Tensor], path: Path) -> None:
    save_file(weights, path)


def save_as_deit(weights: dict[str, Tensor], path: Path) -> None:
    torch.save({"model": weights}, path)


@pytest.mark.parametrize("save", [save_as_timm, save_as_deit])
@pytest.mark.parametrize("formulation, attention", [("standard", "eager"), ("quest", "plain_quest")])
def test_logits_loss_and_gradients_are_equal(formulation: str, attention: str, save, tmp_path: Path) -> None:
    torch.manual_seed(5)
    images = torch.randn(6, SIZES["channels"], SIZES["image_size"], SIZES["image_size"])
    labels = torch.randint(0, SIZES["classes"], (6,))
    weights, expected = hugging_face_step(attention, images, labels)
    save({name: tensor.contiguous() for name, tensor in weights.items()}, tmp_path / "weights")
    given_by_data = ("image_size", "channels", "classes")
    metadata = {"model": "vit", "model.formulation": formulation}
    metadata |= {key if key in given_by_data else f"model.{key}": str(value) for key, value in SIZES.items()}
    save_file({"images": images, "labels": labels}, tmp_path / "batch", metadata)
    subprocess.run([os.environ["MODEL_STEP"], *(tmp_path / name for name in ("batch", "weights", "out"))], check=True)
    actual = load_file(tmp_path / "out")

    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        error = (actual[name].double() - tensor).abs().max() / tensor.abs().max()
        assert error < TOLERANCE, f"{name}: {error:.1e} of its largest element"
