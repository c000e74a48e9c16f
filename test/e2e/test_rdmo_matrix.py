# SPDX-License-Identifier: BSD-3-Clause
"""What remote direct memory operations are refused for: the document has the list that is tried."""

import os
import subprocess

PROGRAM = os.path.join(os.environ["RDMAPMD_BUILD"], "test", "e2e", "e2e_rdmo_matrix")
DOCUMENT = os.path.join(os.environ["RDMAPMD_SOURCE"], "doc", "features", "rdmo.md")


def test_the_document_has_the_list():
    listed = subprocess.run([PROGRAM, "--list"], text=True, capture_output=True, check=True).stdout
    with open(DOCUMENT, encoding="utf-8") as document:
        assert listed in document.read(), f"print it anew: {PROGRAM} --list"
