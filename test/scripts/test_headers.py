# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's driver headers out of a source tree that somebody names."""

import os
import subprocess

import pytest

SCRIPT = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "driver-headers.sh")
ROOTS = ("ethdev_driver.h", "ethdev_vdev.h", "ethdev_pci.h", "bus_pci_driver.h", "bus_vdev_driver.h", "dev_driver.h",
         "bus_driver.h")


class Tree:
    """Of DPDK 24.11, with a package of the same release that has rte_ethdev.h installed."""

    def __init__(self, root):
        self.root = str(root)
        self.file("tree/VERSION", "24.11.6\n")
        for name in ROOTS:
            self.file(f"tree/{'drivers/bus/x' if name.startswith('bus_') else 'lib/ethdev'}/{name}", "#include <rte_ethdev.h>\n#include <pthread.h>\n")
        self.file("tree/lib/ethdev/ethdev_driver.h", "#include <rte_ethdev.h>\n#include \"ethdev_inner.h\"\n")
        self.file("tree/lib/ethdev/ethdev_inner.h")
        self.file("tree/lib/ethdev/rte_ethdev.h")
        self.file("tree/lib/eal/windows/include/pthread.h")
        self.file("installed/rte_ethdev.h")
        self.program("dpkg-query", "printf '%s' 'dpdk 24.11.8-1'")
        self.release("24.11.8")

    def at(self, path):
        return f"{self.root}/{path}"

    def file(self, path, text=""):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w", encoding="utf-8") as file:
            file.write(text)

    def program(self, name, text):
        self.file(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        os.chmod(self.at(f"bin/{name}"), 0o755)

    def release(self, installed):
        self.program("pkg-config", f"case $1 in --modversion) echo {installed} ;; *) echo -I{self.at('installed')} ;; esac")

    def run(self):
        """Exit code, standard error, the headers."""
        done = subprocess.run([SCRIPT, "--tree", self.at("tree"), self.at("out")], text=True, capture_output=True, check=False,
                              env={**os.environ, "PATH": f"{self.at('bin')}:{os.environ['PATH']}"})
        return done.returncode, done.stderr, {name for name in os.listdir(self.at("out")) if name.endswith(".h")}


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_headers_and_what_they_include(tree):
    code, said, names = tree.run()
    assert (code, said) == (0, "") and names == {*ROOTS, "ethdev_inner.h"}


def test_of_another_release_they_are_refused(tree):
    tree.release("23.11.2")
    code, said, names = tree.run()
    assert code == 1 and "is DPDK 24.11, and 23.11 is installed" in said and not names


def test_one_that_is_missing_is_named(tree):
    os.unlink(tree.at("tree/drivers/bus/x/bus_driver.h"))
    code, said, names = tree.run()
    assert code == 1 and "has no bus_driver.h" in said and not names
