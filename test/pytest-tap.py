#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run pytest on the files named and print TAP, one line a test case, for meson to count; behind it, how long it took.

With RDMAPMD_SIZE=default, cases marked `long` are left out. What a case prints is shown when it fails, of one that is marked `tells`
always.
"""

import os
import sys

import pytest

from size import DEFAULT


class Tap:
    """A pytest plugin: `ok 1 - name` as each case ends, what went wrong as diagnostics."""

    def __init__(self):
        self.number = 0
        self.seconds = 0.0
        # The stream is ours alone; what pytest itself reports goes to stderr.
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "long: left to ./test.sh --all")
        config.addinivalue_line("markers", "tells: what it prints is shown even if it passes")

    def say(self, line):
        print(line, file=self.out, flush=True)

    def _line(self, ok, name, directive=""):
        self.number += 1
        self.say(f"{'ok' if ok else 'not ok'} {self.number} - {name}{directive}")

    def _diagnostics(self, text):
        for line in str(text).splitlines():
            self.say(f"# {line}")

    def pytest_runtest_logreport(self, report):
        self.seconds += report.duration
        self._tell(report)
        if report.when == "teardown":
            self._diagnostics(f"took {self.seconds:.2f} s")
            self.seconds = 0.0

    def _tell(self, report):
        name = report.nodeid.rpartition("/")[2].replace("#", "_")
        if report.when == "call" and report.passed:
            self._line(True, name)
            if "tells" in report.keywords:
                self._diagnostics(report.capstdout)
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
    args = ["-q", "--tb=short", "-p", "no:cacheprovider", "--import-mode=importlib"]
    if DEFAULT:
        args += ["-m", "not long"]
    status = pytest.main(args + sys.argv[1:], plugins=[tap])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        tap.say("1..0 # SKIP no tests collected")
        return 0
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and tap.number == 0:
        tap.say(f"Bail out! pytest ended with {status!r}")
        return 1
    tap.say(f"1..{tap.number}")
    # The lines say what failed; a status beside them would count it twice.
    return 0


if __name__ == "__main__":
    sys.exit(main())
