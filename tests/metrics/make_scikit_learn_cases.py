"""Writes scikit_learn.json: small random inputs with ties, and what scikit-learn says of them.   Needs scikit-learn."""

import json
from pathlib import Path

import numpy
from sklearn import __version__, metrics


def classes_case(generator: numpy.random.Generator, samples: int, classes: int) -> dict:
    labels = generator.integers(0, classes, samples)
    predicted = numpy.where(generator.random(samples) < 0.4, labels, generator.integers(0, classes, samples))
    return {
        "classes": classes,
        "labels": labels.tolist(),
        "predicted": predicted.tolist(),
        "f1": metrics.f1_score(labels, predicted, average="macro"),
        "recall": metrics.recall_score(labels, predicted, average="macro", zero_division=0),
    }


def scores_case(generator: numpy.random.Generator, samples: int, labels: int) -> dict:
    targets = generator.integers(0, 2, (samples, labels))
    targets[0], targets[1] = 1, 0
    scores = generator.integers(0, 6, (samples, labels)) / 4  # exact in float32, and often equal
    return {
        "targets": targets.tolist(),
        "scores": scores.tolist(),
        "average_precision": metrics.average_precision_score(targets, scores, average="macro"),
        "mean_absolute_error": metrics.mean_absolute_error(targets, scores),
        "mean_squared_error": metrics.mean_squared_error(targets, scores),
    }


def ranks_case(generator: numpy.random.Generator, queries: int, candidates: int) -> dict:
    scores = generator.permuted(numpy.tile(numpy.arange(candidates), (queries, 1)), axis=1)
    right = generator.integers(0, candidates, queries)
    is_right = numpy.arange(candidates) == right[:, None]
    return {
        "scores": scores.tolist(),
        "right": right.tolist(),
        "mrr": metrics.label_ranking_average_precision_score(is_right, scores),
    }


if __name__ == "__main__":
    random = numpy.random.default_rng(7)
    content = {
        "made_by": f"make_scikit_learn_cases.py with scikit-learn {__version__}",
        "classes": [classes_case(random, samples, classes) for samples, classes in ((1, 2), (9, 3), (40, 6), (25, 21))],
        "scores": [scores_case(random, samples, labels) for samples, labels in ((2, 1), (13, 3), (30, 10))],
        "ranks": [ranks_case(random, queries, candidates) for queries, candidates in ((1, 2), (6, 9))],
    }
    Path(__file__).with_name("scikit_learn.json").write_text(json.dumps(content) + "\n")
