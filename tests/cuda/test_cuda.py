"""The CUDA operators against float64 and against the CPU's operators.

Usage: test_cuda.py libquest_ops.so libquest_ops_cuda.so [--small] [NAME...]
  --small   few small cases, for compute-sanitizer
  NAME      only these tests: accuracy, or a part of a name in behaviour.py
"""

import argparse
import sys
import time
import traceback

import torch


def chosen_tests(names, small):
    import accuracy
    import behaviour

    def accuracy_test():
        lines, summary = accuracy.failures(small)
        print(f"  {summary}")
        assert not lines, f"{len(lines)} results miss their budget:\n  " + "\n  ".join(lines)

    tests = {"accuracy": accuracy_test}
    for name, test in vars(behaviour).items():
        if name.startswith("test_") and (not small or test in behaviour.SMALL):
            tests[name] = test
    return {n: t for n, t in tests.items() if not names or any(part in n for part in names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs=2)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    for library in arguments.libraries:
        torch.ops.load_library(library)
    assert torch._C._dispatch_has_kernel_for_dispatch_key("quest::attention_forward", "CUDA")
    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return 0
    torch.manual_seed(0)
    tests = chosen_tests(arguments.names, arguments.small)
    failed = 0
    for name, test in tests.items():
        start = time.perf_counter()
        try:
            test()
            torch.cuda.synchronize()
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        except Exception as error:
            failed += 1
            print(f"{name} failed: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
