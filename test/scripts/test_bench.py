# SPDX-License-Identifier: BSD-3-Clause
"""What a benchmark does without its peers: it installs them, or says at its end that they are missing."""

import os
import shutil
import subprocess

import pytest

SOURCE = os.environ["RDMAPMD_SOURCE"]
TOOLS = ("bash", "cat", "chmod", "dirname", "env", "grep", "mkdir", "realpath", "rm", "sed", "tail", "touch")
NO_LIBMLX5 = "libmlx5.a, libibverbs.a or libnl is missing (apt-get install libibverbs-dev)"
NO_UCX = "libucp is missing (apt-get install libucx-dev)"


class Tree:
    """The scripts, in a tree that is built at once, on a machine that has the programs of one folder."""

    def __init__(self, root):
        self.root, self.bin = str(root), str(root / "bin")
        bench = self.at("devtools/bench")
        os.makedirs(bench)
        os.makedirs(self.at("build"))
        os.makedirs(self.at("build-bench/meson-logs"))
        for name in ("common.sh", "rdma.sh", "rdmo.sh", "instr.sh"):
            if os.path.exists(f"{SOURCE}/devtools/bench/{name}"):
                shutil.copy(f"{SOURCE}/devtools/bench/{name}", bench)
        shutil.copy(f"{SOURCE}/devtools/lib.sh", self.at("devtools"))
        with open(self.at("devtools/lib.sh"), "a", encoding="utf-8") as lib:
            lib.write("setup_build() { :; }\nhugepages_reserve() { :; }\n")
        with open(self.at("build-bench/meson-logs/meson-log.txt"), "w", encoding="utf-8") as log:
            log.write(f"WARNING: libmlx5_instr, the peer, is not built: {NO_LIBMLX5}\n"
                      f"WARNING: rdmo_ucx, the peer, is not built: {NO_UCX}\n")
        os.makedirs(self.bin)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), f"{self.bin}/{tool}")
        self.program("id", "echo 0")
        self.program("ninja", "[[ ! $* =~ $NOT_BUILT ]]")
        self.program("dpkg-query", "exit 1")
        self.program("apt-get", 'echo "$*" >>"$LOG"; exit 1')
        self.program("valgrind")
        self.program("cc")
        self.program("python3")
        for name in ("rdma.py", "rdmo.py", "instr.py"):
            self.program(self.at(f"devtools/bench/{name}"), 'echo "$*"; echo figures >&2')
        self.not_built = "none"

    def at(self, path):
        return f"{self.root}/{path}"

    def program(self, name, text=":"):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{self.bin}/bash\n{text}\n")
        os.chmod(path, 0o755)

    def apt_get_installs(self):
        self.program("apt-get", 'echo "$*" >>"$LOG"; case $* in *install*ucx-utils*) cd "${0%/*}"\n'
                                'touch ucx_perftest; chmod +x ucx_perftest ;; esac')

    def run(self, *args, script="rdma.sh"):
        """Exit code, the Python program's arguments, standard error's lines."""
        done = subprocess.run([self.at(f"devtools/bench/{script}"), *args], text=True, capture_output=True, check=False,
                              env={"PATH": self.bin, "LOG": self.at("apt.log"), "NOT_BUILT": self.not_built})
        words = [line.split() for line in done.stdout.splitlines() if line.startswith("--root")]
        return done.returncode, words[0] if words else [], done.stderr.splitlines()

    def installed(self):
        """What apt-get was asked for."""
        if not os.path.exists(self.at("apt.log")):
            return []
        with open(self.at("apt.log"), encoding="utf-8") as log:
            return [line.split()[-1] for line in log if " install " in line]


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_a_peer_that_cannot_be_had_is_said_behind_the_figures(tree):
    code, words, said = tree.run()
    assert code == 0 and "figures" in said
    assert said.index("figures") < len(said) - 1 and said[-1].startswith("rdma: without UCX: ucx_perftest is missing")
    assert words[words.index("--without") + 1] == "UCX"


def test_a_peer_that_can_be_had_is_installed(tree):
    tree.apt_get_installs()
    code, words, said = tree.run("--strict")
    assert code == 0 and "ucx-utils" in tree.installed() and "--without" not in words and said[-1] == "figures"


def test_strict_fails_without_a_peer(tree):
    code, words, _ = tree.run("--strict")
    assert code == 1 and words


def test_nothing_is_installed_against_the_users_will(tree):
    tree.apt_get_installs()
    assert tree.run("--no-install", "--strict")[0] == 1 and tree.installed() == []


def test_rows_of_ours_alone_have_no_peer(tree):
    code, _, said = tree.run("--strict", "--no-instr", "--rows", "rnic,softrnicd")
    assert code == 0 and tree.installed() == [] and said == ["figures"]


def test_a_program_that_is_not_built_is_said_with_the_reason(tree):
    tree.program("ucx_perftest")
    tree.not_built = "query.*libmlx5"
    code, words, said = tree.run("--strict")
    assert code == 1 and said[-1] == f"rdma: without libmlx5: {NO_LIBMLX5}" and "--instr-peer" not in words


def test_what_is_built_is_counted(tree):
    tree.program("ucx_perftest")
    code, words, _ = tree.run("--strict")
    assert code == 0 and {"--instr", "--instr-peer"} <= set(words)


def test_appends_have_both_benches_and_the_peer_that_is_built(tree):
    tree.apt_get_installs()
    code, words, said = tree.run("--strict", script="rdmo.sh")
    assert code == 0 and said[-1] == "figures" and "libucx-dev" in tree.installed()
    assert {"--program", "--rdmo", "--instr", "--ucx", "--plugin", "--softrnicd"} <= set(words)


def test_appends_are_measured_without_the_peer(tree):
    tree.not_built = "query.*rdmo_ucx"
    code, words, said = tree.run(script="rdmo.sh")
    assert code == 0 and said[-1] == f"rdmo: without UCX: {NO_UCX}" and "--ucx" not in words
    assert tree.run("--strict", script="rdmo.sh")[0] == 1


def test_appends_of_ours_alone_have_no_peer(tree):
    tree.not_built = "query.*rdmo_ucx"
    code, words, said = tree.run("--strict", "--no-instr", "--rows", "rnic,delay10", script="rdmo.sh")
    assert code == 0 and said == ["figures"] and tree.installed() == [] and not {"--ucx", "--instr"} & set(words)


def test_what_failed_fails_whatever_is_missing(tree):
    tree.program(tree.at("devtools/bench/instr.py"), "exit 3")
    assert tree.run(script="instr.sh")[0] == 3
