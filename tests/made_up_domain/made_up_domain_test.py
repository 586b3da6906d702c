"""Adds the domain of docs/adding-a-domain.md to a copy of the tree, builds it and runs the page's commands.

Then runs the tests that every domain must pass.

Usage: made_up_domain_test.py SOURCE_DIR BUILD_DIR

The copy is an overlay: a mount that shows the tree, with what was built, and keeps what is written to it elsewhere, so that
only what depends on the new domain is compiled. Where nothing can be mounted, the sources are copied and all is compiled.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path("docs/adding-a-domain.md")
FILE = re.compile(r"^`([\w./-]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(make\n.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_SOURCES = shutil.ignore_patterns(".git", ".venv", "build*", "runs", "__pycache__")
INSIDE = "--inside"
# Those that look at all domains, recipes and tables of the program.
TESTS_OF_ALL_DOMAINS = ("paper/tests_paper", "app/tests_run_start")


def page_files(root: Path) -> dict[str, str]:
    return dict(FILE.findall((root / PAGE).read_text(encoding="utf-8")))


def page_commands(root: Path) -> list[list[str]]:
    found = COMMANDS.search((root / PAGE).read_text(encoding="utf-8"))
    assert found, f"{PAGE}: expected a block of commands that begins with make"
    return [shlex.split(line) for line in found.group(1).splitlines()[1:]]


def run(command: list[str | Path], folder: Path) -> str:
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, flush=True)
    assert done.returncode == 0, f"exit code {done.returncode}"
    return done.stdout


def expect(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text, f"expected {part!r} in what was printed"


def check_outputs(outputs: dict[str, str], work: Path) -> None:
    expect(outputs["recipes"], "regression/line", "A line through made-up points; a second")
    expect(outputs["recipes show"], "noise = 0.1", "deviation of what is added to y")
    expect(outputs["train"], "squared_error")
    best = json.loads((work / "runs/line/evaluations/best.json").read_text())
    # Noise of 0.1 leaves 0.01, however well the line is found.
    assert 0.008 < best["metrics"]["squared_error"] < 0.013, best
    expect(outputs["eval"], "squared_error")
    expect(outputs["paper"], "Table 0", "noise 0.5", "1,000 points", "0.275", "(3)")
    assert len(list((work / "runs/regression").rglob("evaluations/best.json"))) == 12
    expect((work / "runs/line/report.html").read_text(), "squared_error")
    expect(outputs["bench step"], "quest", "No time of a PyTorch loop")


def check_table(quest: Path, work: Path) -> None:
    run([quest, "paper", "regression", "--json", work / "paper.json"], work)
    (item,) = json.loads((work / "paper.json").read_text())["items"]
    assert item["label"] == "Table 0" and item["state"] == "full size", item
    assert item["metric"] == "mean squared error on 1,000 new points", item
    again = run([quest, "paper", "regression", "--train"], work)
    expect(again, "12 runs, 12 of them have ended already")
    run([quest, "report", "runs/regression"], work)
    expect((work / "runs/regression/report.html").read_text(), "Squared error of a line", "noise 0.5")


def check_errors(quest: Path, work: Path) -> None:
    refused = subprocess.run([quest, "eval", "runs/line", "--with", "calibration"], cwd=work, text=True, check=False,
                             capture_output=True)
    assert refused.returncode != 0
    expect(refused.stderr, 'the evaluation "calibration" needs a task that', 'the task "line" does not')


def follow_the_page(root: Path, build: Path, work: Path) -> None:
    for name, text in page_files(root).items():
        path = root / name
        assert not path.exists(), f"{name}: expected a new file, is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run(["cmake", "--build", build, "--target", "quest_cli", *(Path(test).name for test in TESTS_OF_ALL_DOMAINS)], root)
    quest = build / "quest"
    outputs = {}
    for program, *arguments in page_commands(root):
        assert program == "build/quest", program
        verb = " ".join(word for word in arguments[:2] if re.fullmatch("[a-z]+", word) and word != "regression")
        outputs[verb] = run([quest, *arguments], work)
    check_outputs(outputs, work)
    check_table(quest, work)
    check_errors(quest, work)
    for test in TESTS_OF_ALL_DOMAINS:
        run([build / "tests" / test], work)
    for rule in ("includes", "domain_names", "sources_listed"):
        run([sys.executable, root / f"tests/style/{rule}.py", root], root)


def run_in_overlay(root: Path, build: Path, scratch: Path) -> bool:
    """Whether it could be mounted. What was written to the sources then lies in scratch/written."""
    for folder in ("written", "work"):
        (scratch / folder).mkdir()
    mount = ["mount", "-t", "overlay", "overlay", "-o",
             f"lowerdir={root},upperdir={scratch / 'written'},workdir={scratch / 'work'}", str(root)]
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    inside = f"{shlex.join(mount)} || exit 77; cd {shlex.quote(str(root))}; " + shlex.join(
        [sys.executable, __file__, str(root), str(build), INSIDE, str(scratch / "runs")])
    done = subprocess.run(["unshare", *user, "--mount", "sh", "-c", inside], check=False)
    if done.returncode in (77, 127):
        return False
    assert done.returncode == 0, "the page's domain does not work; see above"
    return True


def check_nothing_else_was_edited(root: Path, build: Path, written: Path) -> None:
    edited = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    generated = build.relative_to(root).as_posix() + "/"
    edited = {name for name in edited if not name.startswith(generated) and "__pycache__" not in name}
    assert edited == set(page_files(root)), edited


def main() -> None:
    root, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    assert len(page_files(root)) == 3, f"{PAGE}: expected three files, found {list(page_files(root))}"
    if INSIDE in sys.argv:
        work = Path(sys.argv[-1])
        work.mkdir()
        follow_the_page(root, build, work)
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if build.is_relative_to(root) and shutil.which("unshare") and run_in_overlay(root, build, scratch):
            check_nothing_else_was_edited(root, build, scratch / "written")
            return
        print("nothing can be mounted here: compiles a copy of all sources, which takes minutes", flush=True)
        copy = scratch / "tree"
        shutil.copytree(root, copy, ignore=NOT_SOURCES)
        torch_dir = re.search(r"^Torch_DIR:PATH=(.*)/share/cmake/Torch$", (build / "CMakeCache.txt").read_text(), re.M)
        run(["cmake", "--preset", "release", f"-DQUEST_TORCH_DIR={torch_dir.group(1)}"], copy)
        (scratch / "copied").mkdir()
        follow_the_page(copy, copy / "build", scratch / "copied")


if __name__ == "__main__":
    main()
