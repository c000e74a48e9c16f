#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run pytest on the files named and print TAP, one line a test case, for meson to count."""

import sys

import pytest


class Tap:
    """A pytest plugin: `ok 1 - name` as each case ends, what went wrong as diagnostics."""

    def __init__(self):
        self.number = 0
        self.broken = False

    def _line(self, ok, name, directive=""):
        self.number += 1
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{directive}", flush=True)

    @staticmethod
    def _diagnostics(text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2].replace("#", "_")
        if report.when == "call" and report.passed:
            self._line(True, name)
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self._line(True, name, f" # SKIP {reason}".replace("\n", " "))
        elif report.failed:
            # A failure of the set-up or of the clean-up is a failure of its own.
            self._line(False, name if report.when == "call" else f"{name} ({report.when})")
            self._diagnostics(report.longrepr)
            for title, text in report.sections:
                self._diagnostics(f"---- {title}")
                self._diagnostics(text)

    def pytest_collectreport(self, report):
        if report.failed:
            self._line(False, f"{report.nodeid or 'collection'} (collection)")
            self._diagnostics(report.longrepr)


def main():
    tap = Tap()
    args = ["-p", "no:terminal", "-p", "no:cacheprovider", "--import-mode=importlib"]
    status = pytest.main(args + sys.argv[1:], plugins=[tap])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        print("1..0 # SKIP no tests collected", flush=True)
        return 0
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and tap.number == 0:
        print(f"Bail out! pytest ended with {status!r}", flush=True)
        return 1
    print(f"1..{tap.number}", flush=True)
    # The lines say what failed; a status beside them would count it twice.
    return 0


if __name__ == "__main__":
    sys.exit(main())
