"""Two hosts train together: network namespaces joined by a virtual cable, each with a torchrun of its own.

Skipped where no network namespaces can be made. Usage: see tests/python/run.py; TRAIN_TINY is the program.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

PORT = "29517"
NAMES = [f"quest-{os.getpid()}-{i}" for i in (0, 1)]
CABLE = [f"qst{os.getpid() % 100000}x{i}" for i in (0, 1)]
ADDRESSES = ["10.201.77.1", "10.201.77.2"]
SAMPLES_PER_STEP = 16
EPOCHS = 12


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def two_hosts() -> Iterator[None]:
    if shutil.which("ip") is None:
        pytest.skip("skipped: no program 'ip' to make network namespaces with")
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", CABLE[0], "netns", NAMES[0], "type", "veth", "peer", "name", CABLE[1], "netns", NAMES[1])
        for name, end, address in zip(NAMES, CABLE, ADDRESSES):
            ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        pull_down()
        pytest.skip(f"skipped: network namespaces cannot be made here ({error.stderr.strip()})")
    try:
        yield
    finally:
        pull_down()


def pull_down() -> None:
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def tiny(folder: Path, processes: int, milliseconds: int, shard: str) -> list[str]:
    batch = SAMPLES_PER_STEP // processes
    return [os.environ["TRAIN_TINY"], str(folder), str(batch), str(EPOCHS), str(milliseconds), "0", shard]


def start(host: int, folder: Path, milliseconds: int, shard: str) -> subprocess.Popen:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={host}", "--no-python",
                "--nproc-per-node=1", f"--master-addr={ADDRESSES[0]}", f"--master-port={PORT}"]
    return subprocess.Popen(
        ["ip", "netns", "exec", NAMES[host], *torchrun, *tiny(folder, 2, milliseconds, shard)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def start_both(folder: Path, milliseconds: int = 0, shard: str = "none") -> list[subprocess.Popen]:
    # Only the first process writes; the other host's folder stays empty.
    return [start(0, folder, milliseconds, shard), start(1, folder.with_name("elsewhere"), milliseconds, shard)]


def expect_success(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output


def stop(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture(scope="module")
def of_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one") / "run"
    subprocess.run(tiny(folder, 1, 0, "none"), check=True, capture_output=True, timeout=120)
    return folder


def expect_weights_of(one: Path, several: Path) -> None:
    expected, actual = (load_file(folder / "checkpoints/last.safetensors") for folder in (one, several))
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(actual[name], tensor, rtol=0, atol=1e-6, msg=name)


def finished_steps(folder: Path) -> int:
    checkpoint = folder / "checkpoints/resume.safetensors"
    if not checkpoint.exists():
        return 0
    with safe_open(checkpoint, "pt") as file:
        return int(file.metadata()["step"])


def wait_for_a_checkpoint(folder: Path) -> int:
    end = time.monotonic() + 120
    while finished_steps(folder) == 0:
        assert time.monotonic() < end, "the two hosts did not begin"
        time.sleep(0.05)
    return finished_steps(folder)


@pytest.mark.parametrize("shard", ["none", "optimizer"])
def test_they_end_with_the_weights_of_one_process(of_one: Path, tmp_path: Path, shard: str) -> None:
    with two_hosts():
        expect_success(start_both(tmp_path / "run", shard=shard))
    expect_weights_of(of_one, tmp_path / "run")


def test_a_host_that_vanishes_ends_the_other_and_the_run_resumes(of_one: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with two_hosts():
        first, second = start_both(folder, milliseconds=200)
        try:
            wait_for_a_checkpoint(folder)
            ip("-n", NAMES[1], "link", "set", CABLE[1], "down")  # nobody is told
            cut = time.monotonic()
            output, _ = first.communicate(timeout=90)
            seconds = time.monotonic() - cut
        finally:
            stop(first)
            stop(second)
        assert first.returncode != 0
        assert "rank 1 of 2 is gone" in output, output
        assert "the training can be resumed from its last checkpoint" in output, output
        assert seconds < 60, f"the first host waited {seconds:.0f} s"
        ip("-n", NAMES[1], "link", "set", CABLE[1], "up")
        expect_success(start_both(folder))
    expect_weights_of(of_one, folder)
