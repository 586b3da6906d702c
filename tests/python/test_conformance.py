"""Every model class of transformers that can be built small: equal and truly QUEST, or refused; none silently wrong."""

import collections
import re

import pytest

transformers = pytest.importorskip("transformers")
from hf_page import PAGE, page, try_all  # noqa: E402
from hf_zoo import families  # noqa: E402


def computing_quest(text):
    """By family, how many classes compute QUEST."""
    return {name: int(count or 0) for name, count in re.findall(r"^\| (\w+) \| (\d*) \|", text, re.MULTILINE)}


def test_every_model_class():
    outcomes = try_all(families())
    now, kept = page(outcomes), PAGE.read_text()
    print(now)
    assert not [found for found in outcomes if found.kind == "wrong"]
    counts = collections.Counter(found.kind for found in outcomes)
    assert counts["quest"] > 700 and counts["refused"] > 50, counts
    if f"every model class of transformers {transformers.__version__}." in kept:
        found, expected = computing_quest(now), computing_quest(kept)
        assert {name for name in expected if found[name] < expected[name]} == set(), (
            "the page says that more compute QUEST"
        )
