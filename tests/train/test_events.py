"""TensorBoard reads the events that write_events.cpp writes."""

import math
import os
import socket
import subprocess

import numpy
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

WRITE_EVENTS = os.environ["QUEST_WRITE_EVENTS"]


@pytest.fixture
def events(tmp_path) -> EventAccumulator:
    subprocess.run([WRITE_EVENTS, tmp_path], check=True)
    return EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "tensors": 0, "histograms": 0}).Reload()


def test_files_are_named_as_tensorboard_expects(events):
    names = sorted(os.listdir(events.path))
    assert len(names) == 2
    times = [int(name.split(".")[3]) for name in names]
    assert times[0] < times[1]
    assert all(name == f"events.out.tfevents.{time}.{socket.gethostname()}" for name, time in zip(names, times))


def test_scalars_of_the_resumed_run(events):
    loss = {event.step: event.value for event in events.Scalars("train/loss")}
    assert list(loss) == list(range(1, 1001))
    for step, value in loss.items():
        assert value == pytest.approx((1 if step <= 3 else 10) / step, rel=1e-7)
    assert [(event.step, event.value) for event in events.Scalars("large step")] == [(2**40, -1.5)]


def test_a_resume_forgets_later_steps_of_every_tag(events):
    assert "ünïcode" in events.Tags()["scalars"]
    assert events.Scalars("ünïcode") == []


def test_values_that_are_not_finite(events):
    first = os.path.join(events.path, min(os.listdir(events.path)))
    last = list(EventFileLoader(first).Load())[-1]
    assert last.step == 5
    assert math.isnan(last.summary.value[0].tensor.float_val[0])


def test_histograms(events):
    assert "nothing finite" not in events.Tags()["histograms"]
    (event,) = events.Histograms("norms")
    values = numpy.sqrt(numpy.arange(300.0)) - 3
    found = event.histogram_value
    assert event.step == 7
    assert (found.min, found.max, found.num) == (values.min(), values.max(), 300)
    assert found.sum == pytest.approx(values.sum(), rel=1e-12)
    assert found.sum_squares == pytest.approx((values**2).sum(), rel=1e-12)
    # numpy's buckets contain their left edges, these their right ones.
    expected, edges = numpy.histogram(-values, bins=30)
    assert found.bucket_limit == pytest.approx(-edges[:-1][::-1], rel=1e-12)
    assert found.bucket == expected[::-1].tolist()
    (same,) = events.Histograms("one value")
    assert sum(same.histogram_value.bucket) == 2
    assert same.histogram_value.min == same.histogram_value.max == 2.5


def test_a_cut_file_is_read_up_to_its_last_whole_event(events, tmp_path_factory):
    last = os.path.join(events.path, max(os.listdir(events.path)))
    content = open(last, "rb").read()
    whole = len(list(EventFileLoader(last).Load()))
    cut = tmp_path_factory.mktemp("cut") / "events.out.tfevents.1.x"
    cut.write_bytes(content[:-5])
    assert len(list(EventFileLoader(str(cut)).Load())) == whole - 1
