"""Each rule of this folder is shown a small tree that keeps it, then the same tree with one violation at a time."""

import contextlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent

# Of every kind of file one that is as it should be.
TREE = {
    "include/quest/export.h": "#include <string>\n",
    "include/quest/attention.h": '#include <ATen/core/Tensor.h>\n#include "quest/export.h"\n',
    "src/base/text.h": "#include <string>\n",
    "src/base/text.cpp": '#include "base/text.h"\n',
    "src/kernels/forward.cpp": '#include "hwy/highway.h"\n#include "base/text.h"\n',
    "src/ops/rules/limits.h": '#include "kernels/limits.h"\n',
    "src/ops/check.h": '#include "ops/rules/limits.h"\n#include <torch/headeronly/core/DeviceType.h>\n',
    "src/attention/attention.cpp": '#include "quest/attention.h"\n#include "ops/check.h"\n',
    "src/data/formats/idx.h": '#include "base/text.h"\n',
    "src/data/sets/digits.h": '#include "data/formats/idx.h"\n#include "data/batch.h"\n#include <ATen/core/Tensor.h>\n',
    "src/train/run/run_log.h": '#include "ops/rules/limits.h"\n',
    "src/train/engine/task.h": '#include "data/batch.h"\n#include "train/monitor/monitor.h"\n',
    "src/paper/runs.h": '#include "train/run/run_log.h"\n',
    "src/report/page.h": '#include "report/charts/figure.h"\n#include "paper/runs.h"\n',
    "src/domains/domain.h": '#include "eval/evaluation.h"\n#include "report/charts/figure.h"\n',
    "src/domains/CMakeLists.txt": "file(GLOB sources ${name}/*.cpp)\n",
    "src/domains/pictures/domain.cpp": '#include "domains/domain.h"\n#include "domains/pictures/task.h"\n'
                                       "namespace quest::pictures {}\n",
    "src/domains/toy/domain.cpp": '#include "terminal/table.h"\n#include "models/fields.h"\nnamespace quest::toy {}\n',
    "src/app/start.cpp": '// Not a toyshop, and no pictures/s either.\n#include "domains/domain.h"\n',
    "src/cli/main.cpp": '#include "bench/measure.h"\n#include "app/start.h"\n',
    "src/CMakeLists.txt": "add(base/text.cpp kernels/forward.cpp attention/attention.cpp app/start.cpp cli/main.cpp)\n",
    "recipes/pictures/small.toml": 'task = "pictures"\n',
    "recipes/toy/grid.toml": 'task = "toy"\n',
    "python/package.py": "pictures = ['picture']\n",
    "tests/text_test.cpp": '#include "domains/toy/toy.h"\n',
    "tests/CMakeLists.txt": "add(${PROJECT_SOURCE_DIR}/tests/text_test.cpp)\n",
    "Makefile": "all:\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def tree(planted: dict[str, str]):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), TREE | planted)
        yield Path(folder)


def run(rule: str, planted: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = ["bash"] if rule.endswith(".sh") else [sys.executable]
    with tree(planted) as root:
        return subprocess.run([*program, HERE / rule, root], capture_output=True, text=True, check=False)


class Rules(unittest.TestCase):
    def expect_clean(self, rule: str, planted: dict[str, str] | None = None) -> None:
        result = run(rule, planted or {})
        self.assertEqual((result.returncode, result.stdout.strip(), result.stderr), (0, "", ""))

    def expect_only(self, rule: str, file: str, text: str, *parts: str) -> None:
        result = run(rule, {file: text})
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 1, f"{file} with {text!r} passed")
        lines = result.stdout.strip().splitlines()
        self.assertEqual(len(lines), 1, lines)
        for part in (file, *parts):
            self.assertIn(part, lines[0])

    def test_a_tree_that_keeps_the_rules_passes(self):
        for rule in ("includes.py", "domain_names.py", "sources_listed.py", "file_lengths.sh"):
            with self.subTest(rule):
                self.expect_clean(rule)

    def test_an_arrow_that_goes_up_is_named_with_its_place(self):
        for file, target, arrow in (
            ("src/base/bad.h", "recipe/fields.h", "base -> recipe"),
            ("src/recipe/bad.h", "models/fields.h", "recipe -> models"),
            ("src/terminal/bad.h", "train/run/run_log.h", "terminal -> train/run"),
            ("src/kernels/cpu/bad.h", "ops/check.h", "kernels -> ops"),
            ("src/kernels/cuda/bad.cu", "ops/rules/limits.h", "kernels -> ops/rules"),
            ("src/kernels/bad-inl.h", "quest/attention.h", "kernels -> attention"),
            ("src/ops/rules/bad.h", "ops/check.h", "ops/rules -> ops"),
            ("src/ops/bad.h", "attention/call.h", "ops -> attention"),
            ("src/attention/bad.h", "quest/nn/mlp.h", "attention -> nn"),
            ("src/nn/bad.h", "quest/models/vit.h", "nn -> models"),
            ("src/models/bad.h", "data/batch.h", "models -> data"),
            ("src/metrics/bad.h", "data/batch.h", "metrics -> data"),
            ("src/data/formats/bad.h", "data/sets/digits.h", "data/formats -> data/sets"),
            ("src/data/formats/bad.h", "data/augment/flip.h", "data/formats -> data/augment"),
            ("src/data/formats/bad.h", "data/batch.h", "data/formats -> data"),
            ("src/data/bad.h", "data/sets/digits.h", "data -> data/sets"),
            ("src/data/sets/bad.h", "data/augment/flip.h", "data/sets -> data/augment"),
            ("src/data/bad.h", "train/engine/task.h", "data -> train"),
            ("src/train/run/bad.h", "train/monitor/monitor.h", "train/run -> train/monitor"),
            ("src/train/run/bad.h", "train/optim/schedule.h", "train/run -> train"),
            ("src/train/monitor/bad.h", "train/engine/task.h", "train/monitor -> train"),
            ("src/train/engine/bad.h", "eval/evaluation.h", "train -> eval"),
            ("src/eval/attacks/bad.h", "paper/runs.h", "eval -> paper"),
            ("src/paper/bad.h", "eval/evaluation.h", "paper -> eval"),
            ("src/report/charts/bad.h", "report/page.h", "report/charts -> report"),
            ("src/report/bad.h", "eval/evaluation.h", "report -> eval"),
            ("src/report/bad.h", "domains/domain.h", "report -> domains"),
            ("src/domains/bad.h", "app/start.h", "domains -> app"),
            ("src/domains/toy/bad.h", "app/start.h", "domains/toy -> app"),
            ("src/domains/toy/deep/bad.h", "domains/pictures/task.h", "domains/toy -> domains/pictures"),
            ("src/domains/bad.h", "domains/toy/toy.h", "domains -> domains/toy"),
            ("src/app/bad.h", "domains/pictures/task.h", "app -> domains/pictures"),
            ("src/app/bad.h", "bench/measure.h", "app -> bench"),
            ("src/bench/bad.h", "cli/commands.h", "bench -> cli"),
            ("src/cli/bad.h", "domains/toy/toy.h", "cli -> domains/toy"),
            ("src/cli/bad.h", "tests/testing/oracle.h", "cli -> tests"),
            ("src/cli/bad.h", "tools/ptx/warp.h", "cli -> tools"),
            ("tools/ptx/bad.h", "tests/testing/oracle.h", "tools -> tests"),
            ("tools/ptx/bad.h", "cli/commands.h", "tools -> cli"),
            ("include/quest/bad.h", "quest/models/vit.h", "attention -> models"),
            ("include/quest/nn/bad.h", "attention/call.h", "nn -> attention"),
        ):
            with self.subTest(arrow):
                self.expect_only("includes.py", file, f'#pragma once\n\n  # include "{target}"\n', f"{file}:3: ", arrow)

    def test_a_layer_without_torch_includes_none_of_its_headers(self):
        for folder in ("base", "recipe", "terminal", "kernels/cpu", "ops/rules", "data/formats", "train/run", "paper",
                       "report/page", "report/charts"):
            for header in ("<ATen/core/Tensor.h>", '"torch/torch.h"', "<c10/core/Device.h>"):
                with self.subTest(folder=folder, header=header):
                    self.expect_only("includes.py", f"src/{folder}/bad.h", f"#include {header}\n", "-> torch", ":1: ")

    def test_an_include_must_say_which_layer_it_is_of(self):
        self.expect_only("includes.py", "src/app/bad.h", '#include "start.h"\n', "layer/file.h")
        self.expect_only("includes.py", "src/app/bad.h", '#include "../app/start.h"\n', "layer/file.h")
        self.expect_only("includes.py", "src/helpers/bad.h", '#include "base/text.h"\n', "no layer")
        self.expect_only("includes.py", "src/base/bad.h", "#include <quest/attention.h>\n", "base -> attention")

    def test_a_source_includes_its_own_header_first(self):
        self.expect_only("includes.py", "src/base/text.cpp", '#include "base/clock.h"\n#include "base/text.h"\n',
                         ":1: ", '"base/text.h" first')
        self.expect_only("includes.py", "src/base/text.cpp", '#include <string>\n#include "base/text.h"\n', ":1: ")

    def test_a_domain_is_not_named_elsewhere(self):
        for file, text in (
            ("src/app/bad.cpp", 'include("domains/pictures")'),
            ("src/app/bad.cpp", "auto x = pictures::task();"),
            ("src/app/bad.cpp", "auto x = quest::pictures::task();"),
            ("src/app/bad.cpp", "namespace quest::pictures {"),
            ("src/app/bad.cpp", 'if (task == "pictures") {'),
            ("src/app/bad.cpp", 'folder / "pictures/big"'),
            ("src/domains/bad.h", 'if (task == "pictures") {'),
            ("python/bad.py", "task = 'pictures'"),
            ("Makefile", "\tquest train pictures/small"),
            ("scripts/bad.sh", "cat recipes/pictures/large.toml"),
            ("cmake/bad.cmake", "add_subdirectory(domains/toy)"),
            ("src/app/bad.cpp", "// as a toy would"),
            ("src/app/bad.cpp", "run_toy_sweep();"),
            ("src/app/bad.cpp", "constexpr int kToyRuns = 3;"),
            ("src/app/bad.cpp", "ToySettings settings;"),
            ("src/app/toy.h", 'path = "runs/toy";'),
            ("pyproject.toml", "toy = 1"),
        ):
            with self.subTest(text):
                name = "pictures" if "pictures" in text else "toy"
                self.expect_only("domain_names.py", file, f"\n{text}\n", f"{file}:2: ", f"the domain {name}")

    def test_the_language_may_use_a_domain_s_word(self):
        for text in ("at::Tensor pictures;", "// pictures per second", "read_pictures();", "pictures/s", '"12 pictures"',
                     "Toys and Toyota, toyland"):
            with self.subTest(text):
                self.expect_clean("domain_names.py", {"src/app/good.cpp": text + "\n"})

    def test_a_domain_may_be_named_in_its_own_places(self):
        for file in ("src/domains/toy/engine/cpu.cpp", "recipes/toy/a.toml", "paper/toy.toml", "docs/toy.md",
                     "tests/domains/toy/a_test.cpp", "lab/toy.md"):
            with self.subTest(file):
                self.expect_clean("domain_names.py", {file: 'namespace quest::toy { "toy" toy_run }\n'})

    def test_a_forgotten_source_is_found(self):
        for file in ("src/base/forgotten.cpp", "src/cli/text.cpp", "src/kernels/forgotten.cu", "tests/base/forgotten.cpp",
                     "tools/ptx/forgotten.cpp", "src/domains/toy/engine/forgotten.cpp"):
            with self.subTest(file):
                self.expect_only("sources_listed.py", file, "\n")

    def test_a_domain_s_sources_need_no_list(self):
        self.expect_clean("sources_listed.py", {"src/domains/pictures/task.cpp": "\n"})

    def test_a_long_file_is_found(self):
        for folder in ("src/domains/toy", "include/quest", "tools/ptx", "tests/base", "python"):
            with self.subTest(folder):
                self.expect_only("file_lengths.sh", f"{folder}/long.h", "\n" * 600, "has 600")
        self.expect_clean("file_lengths.sh", {"src/base/just_right.h": "\n" * 599})


if __name__ == "__main__":
    unittest.main()
