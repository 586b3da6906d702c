"""The CUDA operators against float64 and against the CPU's operators.

Usage: test_cuda.py libquest_ops.so libquest_ops_cuda.so [--small] [--verbose] [NAME...]
  --small     few small cases with wide limits, for compute-sanitizer; new tensors are filled with NaN
  --verbose   name every case before it runs
  NAME        only these tests: accuracy, or a part of a name in behaviour.py
"""

import argparse
import faulthandler
import sys
import time
import traceback

import torch

# A kernel that never ends must not hold up the machine.
LONGEST_CASE_SECONDS = 120


class Announcer:
    """Remembers what runs now and ends the program where that takes too long; prints it where asked to."""

    def __init__(self, verbose, patient):
        self.verbose = verbose
        self.patient = patient
        self.current = ""

    def __call__(self, case):
        self.current = str(case)
        if not self.patient:
            faulthandler.dump_traceback_later(LONGEST_CASE_SECONDS, exit=True)
        if self.verbose:
            print(f"  {case}", flush=True)


def chosen_tests(names, small, announce):
    import accuracy
    import behaviour

    def accuracy_test():
        lines, summary = accuracy.failures(small, announce)
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
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_intermixed_args()
    for library in arguments.libraries:
        torch.ops.load_library(library)
    assert torch._C._dispatch_has_kernel_for_dispatch_key("quest::attention_forward", "CUDA")
    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return 0
    torch.manual_seed(0)
    if arguments.small:
        # Fills new tensors with NaN. What nobody wrote then shows in the results, also where the copy engine writes,
        # whose stores initcheck does not see.
        torch.use_deterministic_algorithms(True, warn_only=True)
    announce = Announcer(arguments.verbose, patient=arguments.small)  # a sanitizer takes its time
    tests = chosen_tests(arguments.names, arguments.small, announce)
    failed = 0
    for name, test in tests.items():
        start = time.perf_counter()
        announce(name)
        try:
            test()
            torch.cuda.synchronize()
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        except Exception as error:
            failed += 1
            print(f"{name} failed at {announce.current}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    faulthandler.cancel_dump_traceback_later()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
