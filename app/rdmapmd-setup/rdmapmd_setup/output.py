# SPDX-License-Identifier: BSD-3-Clause
"""Lines for people, coloured on a terminal alone; one JSON object for programs."""

import dataclasses
import json
import os
import sys

COLOURS = {"error": "31", "warning": "33", "note": "36", "ok": "32"}


def visible(text, encoding=None):
    """Names of files and processes are anybody's choice: none breaks a line, steers a terminal or cannot be printed."""
    return "".join(c if c.isprintable() and can_print(c, encoding) else
                   c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def can_print(text, encoding):
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Output:
    """Collects what is said; prints at once, or all of it as JSON at the end."""

    def __init__(self, command, as_json):
        self.as_json = as_json
        self.data = {"command": command}
        self.coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def line(self, text="", before=""):
        """before: what mark() made, which is printed as it is."""
        if not self.as_json:
            print(before + visible(text, sys.stdout.encoding))

    def mark(self, level, text):
        return f"\033[{COLOURS[level]}m{text}\033[0m" if self.coloured else text

    def finding(self, finding):
        self.data.setdefault("findings", []).append(dataclasses.asdict(finding))
        self.line(f": {finding.where}: {finding.text} [{finding.id}]", self.mark(finding.level, finding.level))
        for line in finding.fix:
            self.line(f"  fix: {line}")

    def failure(self, failure):
        self.data["error"] = str(failure)
        self.data["fix"] = failure.fix
        if not self.as_json:
            sys.stdout.flush()
            for line in [f"rdmapmd-setup: {failure}"] + [f"  fix: {line}" for line in failure.fix]:
                print(visible(line, sys.stderr.encoding), file=sys.stderr)

    def end(self, code):
        self.data["exit"] = code
        if self.as_json:
            json.dump(self.data, sys.stdout, indent=2)
            print()
        return code
