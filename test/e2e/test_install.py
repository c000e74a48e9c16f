# SPDX-License-Identifier: BSD-3-Clause
"""What `ninja install` puts where, what somebody builds and runs with it, and what `ninja uninstall` leaves."""

import glob
import grp
import os
import pwd
import re
import shutil
import subprocess
import tempfile

import pytest

from e2e import example_readmes, examples

SOURCE, BUILD = os.environ["RDMAPMD_SOURCE"], os.environ["RDMAPMD_BUILD"]
ROOT = os.geteuid() == 0
LIBRARIES = ("rdmapmd", "rdmo")
# -Dsoftrnic=false has neither the daemon nor a device to run with.
SOFTRNIC = os.path.exists(os.path.join(BUILD, "app", "softrnicd", "softrnicd"))
# EAL refuses plugins below a folder that everybody may write to, and an ordinary user must be able to look into it.
PLACE = "/run" if ROOT else BUILD
LOG = os.path.join(BUILD, "meson-logs", "install-log.txt")


def run(*command, **how):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                          check=False, **how)
    return done.returncode, done.stdout


def install(dest):
    code, said = run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", dest)
    assert code == 0, said


@pytest.fixture(autouse=True, scope="module")
def developers_log():
    """What `ninja uninstall` of the developer would remove stays what it was."""
    kept = None
    if os.path.exists(LOG):
        with open(LOG, encoding="utf-8") as log:
            kept = log.read()
    yield
    if kept is not None:
        with open(LOG, "w", encoding="utf-8") as log:
            log.write(kept)
    elif os.path.exists(LOG):
        os.unlink(LOG)


@pytest.fixture
def folder():
    made = tempfile.mkdtemp(prefix="rnic-install-", dir=PLACE)
    os.chmod(made, 0o755)
    yield made
    shutil.rmtree(made)


class Tree:
    """What was installed below DESTDIR."""

    def __init__(self, dest):
        self.dest = dest
        self.libdir = os.path.dirname(self.find("librdmapmd.so"))
        self.plugin = self.find("librte_net_rnic.so")
        # Nothing but pkg-config leads to it, as it would for anybody who builds with it.
        paths = [os.path.join(self.libdir, "pkgconfig"), os.environ.get("PKG_CONFIG_PATH", "")]
        self.env = dict(os.environ, PKG_CONFIG_PATH=":".join(p for p in paths if p), LC_ALL="C")
        self.env.pop("LD_LIBRARY_PATH", None)

    def find(self, name):
        found = glob.glob(os.path.join(self.dest, "**", name), recursive=True)
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def example(self, name):
        return os.path.dirname(self.find(f"rdmapmd/examples/{name}/Makefile"))

    def flags(self, *args):
        code, said = run("pkg-config", *args, "rdmapmd", env=self.env)
        assert code == 0, said
        assert self.dest in said, f"another rdmapmd, or a build folder from before pkgconfig.relocatable was set: {said}"
        return said.split()


@pytest.fixture(scope="module")
def tree():
    dest = tempfile.mkdtemp(prefix="rnic-install-", dir=PLACE)
    os.chmod(dest, 0o755)
    install(dest)
    yield Tree(dest)
    shutil.rmtree(dest)


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


def test_everything_is_installed_and_nothing_else(tree):
    with open(os.path.join(SOURCE, "VERSION"), encoding="utf-8") as text:
        version = text.read().strip()
    wanted = {"librte_net_rnic.a", "librte_net_rnic.so", "rdmapmd.pc", "rdmapmd-libs.pc", "rdmo.pc", "rdmo-libs.pc", "net_rnic.7",
              "dpdk-test-rdma-perf", "dpdk-test-rdma-perf.1", "rdmapmd-setup", "rdmapmd-setup.1", "rdmo.7", "rdmo-worker", "rdmo-worker.8"}
    for library in LIBRARIES:
        wanted |= {os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "lib", library, library + "*.h"))}
        wanted |= {f"lib{library}.{suffix}" for suffix in ("a", "so", "so.0", "so." + version)}
    modules = os.path.join(SOURCE, "app", "rdmapmd-setup", "rdmapmd_setup")
    wanted |= {name for name in os.listdir(modules) if name.endswith(".py")}
    if SOFTRNIC:
        wanted |= {"softrnicd", "softrnicd.8"}
    installed = files_below(tree.dest)
    sources = {path for path in installed if "/rdmapmd/examples/" in path}
    assert {os.path.basename(path) for path in installed - sources} == wanted
    # The examples are there to be copied, with all that their Makefiles name.
    assert {path.rpartition("/rdmapmd/examples/")[2] for path in sources} == {
        path for path in files_below(examples.FOLDER) if path.endswith((".c", ".h", "/Makefile", ".md"))}
    # Where DPDK looks for plugins by itself.
    code, said = run("cc", "-E", "-dM", "-include", "rte_config.h", "-xc", "/dev/null", *tree.flags("--cflags"))
    assert code == 0
    assert tree.plugin == tree.dest + re.search(r'#define RTE_EAL_PMD_PATH "(.*)"', said)[1] + "/librte_net_rnic.so"
    for name in (name for name in wanted if re.search(r"\.[178]$", name)):
        assert tree.find(name).endswith(f"/man/man{name[-1]}/{name}")


def test_rdmapmd_setup_runs_as_it_is_installed(tree):
    """It finds its modules, whoever runs it, and writes nothing beside them."""
    before = files_below(tree.dest)
    program = tree.find("rdmapmd-setup")
    assert os.path.basename(os.path.dirname(program)) == "bin"
    for command in ((program,), as_user(program)):
        code, said = run(*command, "status", cwd="/")
        assert code == 0 and "hugepages of " in said, said
    assert files_below(tree.dest) == before


def test_uninstall_leaves_nothing(folder):
    dest = os.path.join(folder, "dest")
    install(dest)
    assert len(files_below(dest)) > 10
    code, said = run("ninja", "-C", BUILD, "uninstall")
    assert code == 0 and "Failed: 0" in said, said
    assert os.listdir(folder) == []


def test_uninstall_leaves_what_others_have_there(folder):
    dest = os.path.join(folder, "dest")
    kept = os.path.join(dest, os.path.relpath(os.path.dirname(install_place("librte_net_rnic.so")), "/"))
    os.makedirs(kept)
    with open(os.path.join(kept, "librte_net_other.so"), "w", encoding="utf-8"):
        pass
    install(dest)
    code, said = run("ninja", "-C", BUILD, "uninstall")
    assert code == 0 and "Failed: 0" in said, said
    assert [os.path.basename(path) for path in files_below(dest)] == ["librte_net_other.so"]
    assert {at for at, folders, names in os.walk(dest) if not folders and not names} == set()


def install_place(name):
    """Where a file would be without DESTDIR."""
    code, said = run("meson", "introspect", "--installed", BUILD)
    assert code == 0, said
    return next(path for path in re.findall(r'": "([^"]+)"', said) if path.endswith("/" + name))


def as_user(*command):
    """An ordinary one, whoever runs the tests."""
    if not ROOT:
        return command
    return ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command)


def build_example(tree, folder, target, name):
    """A copy of the installed example, by its own Makefile."""
    shutil.copytree(tree.example(name), folder, dirs_exist_ok=True)
    code, said = run("make", "-C", folder, target, "CFLAGS=-O2 -Werror", env=tree.env)
    assert code == 0, said


def place_of(tree, folder, **how):
    """Where an ordinary user finds what was built in that folder, and nothing else of ours but `how`'s."""
    run_time = os.path.join(folder, "run")
    os.mkdir(run_time)
    env = dict(tree.env, RUNTIME_DIRECTORY=run_time, HOME="/nonexistent", **how.pop("env", {}))
    owner = None
    if ROOT:
        owner = pwd.getpwnam("nobody").pw_uid, grp.getgrnam("nogroup").gr_gid
        os.chown(run_time, *owner)
    return examples.Place(folder, before=as_user(), env=env, owner=owner, **how)


# One of them in every run; the others differ in what stands in their main.c, and e2e-examples compiles and runs that.
EACH = [pytest.param(name, marks=[] if name == "rdma_pingpong" else [pytest.mark.long]) for name in examples.NAMES]


def programs(folder):
    """What make has left there."""
    return [path for path in glob.glob(os.path.join(folder, "*")) if os.path.isfile(path) and os.access(path, os.X_OK)]


def run_as_its_readme_says(name, place):
    """Its files are the user's, too."""
    if SOFTRNIC:
        example_readmes.run(name, place, place.env["RUNTIME_DIRECTORY"])


@pytest.mark.parametrize("name", EACH)
def test_a_user_builds_and_runs_an_example_with_the_shared_library(tree, folder, name):
    build_example(tree, folder, "shared", name)
    assert os.path.join(folder, name) in programs(folder)
    env = {"LD_LIBRARY_PATH": tree.libdir}
    for program in programs(folder):
        code, said = run("ldd", program, env=dict(tree.env, **env))
        assert code == 0 and f"librdmapmd.so.0 => {tree.libdir}" in os.path.normpath(said).replace("/./", "/"), said
    run_as_its_readme_says(name, place_of(tree, folder, eal=("-d", tree.plugin), env=env))


@pytest.mark.parametrize("name", EACH)
def test_a_user_builds_and_runs_an_example_with_everything_linked_in(tree, folder, name):
    """The driver is in the program: no plugin, no library of ours."""
    build_example(tree, folder, "static", name)
    assert os.path.join(folder, name + "-static") in programs(folder)
    for program in programs(folder):
        code, said = run("ldd", program, env=tree.env)
        assert code == 0 and "librdmapmd" not in said and "librte" not in said, said
    run_as_its_readme_says(name, place_of(tree, folder, suffix="-static"))


def test_calls_need_the_word_that_they_are_experimental(tree, folder):
    source = os.path.join(SOURCE, "examples", "rdma_write", "main.c")
    command = ["cc", "-Werror", "-o", os.path.join(folder, "program"), source, *tree.flags("--cflags", "--libs")]
    code, said = run(*command, env=tree.env)
    assert code != 0 and "not yet part of stable ABI" in said, said
    code, said = run(*command, "-DALLOW_EXPERIMENTAL_API", env=tree.env)
    assert code == 0, said


@pytest.mark.parametrize("library", LIBRARIES)
def test_headers_and_version_map_agree(tree, library):
    """Each function is marked in its header as it is exported: experimental for applications, internal for drivers."""
    marked = {}
    for header in glob.glob(os.path.join(os.path.dirname(tree.find("rdmapmd.h")), library + "*.h")):
        with open(header, encoding="utf-8") as text:
            code = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
        for mark, name in re.findall(
                r"(?m)^(__rte_experimental |__rte_internal |)(?=\w)(?!static)[\w\s*]*?\b(%s_\w+)\([^{}]*?\);" % library, code):
            marked[name] = {"__rte_experimental ": "EXPERIMENTAL", "__rte_internal ": "INTERNAL", "": "nothing"}[mark]
    code, said = run("nm", "-D", "--defined-only", "--with-symbol-versions", os.path.join(tree.libdir, f"lib{library}.so"))
    assert code == 0
    exported = dict(re.findall(r" [TDBR] (\w+)@@(\w+)$", said, re.M))
    assert len(exported) > 15 and marked == exported


RDMO = """
#include <stdio.h>
#include <rdmo.h>
int main(void)
{
    struct rdmo_conn *conn;
    return rdmo_connect(NULL, NULL, &conn) == -22 && puts(rdmo_status_str(RDMO_STATUS_FULL)) > 0 ? 0 : 1;
}
"""


def test_a_program_is_built_with_rdmo(tree, folder):
    """By the shared library, which brings the one below it; and with everything linked in."""
    source, program = os.path.join(folder, "main.c"), os.path.join(folder, "program")
    with open(source, "w", encoding="utf-8") as text:
        text.write(RDMO)
    for how, linked in (((), True), (("--static",), False)):
        code, flags = run("pkg-config", "--cflags", "--libs", *how, "rdmo", env=tree.env)
        assert code == 0 and tree.dest in flags, flags
        code, said = run("cc", "-Werror", "-DALLOW_EXPERIMENTAL_API", "-o", program, source, *flags.split(), env=tree.env)
        assert code == 0, said
        env = dict(tree.env, LD_LIBRARY_PATH=tree.libdir)
        code, said = run("ldd", program, env=env)
        assert code == 0 and ("librdmo.so.0" in said) == linked, said
        code, said = run(program, env=env)
        assert code == 0 and said == "no room behind the tail\n", said


@pytest.mark.parametrize("part,number,taken", [("year", 99, False), ("month", 1, False), ("minor", 999, True)])
def test_a_plugin_for_another_dpdk_says_so_and_offers_nothing(tree, folder, part, number, taken):
    """The process says that it has another version than the one that the plugin was built for."""
    shim = os.path.join(folder, "shim.so")
    code, said = run("cc", "-shared", "-fPIC", "-xc", "-", "-o", shim,
                     input=f"unsigned int rte_version_{part}(void); unsigned int rte_version_{part}(void) {{ return {number}; }}")
    assert code == 0, said
    env = dict(tree.env, RUNTIME_DIRECTORY=folder, LD_PRELOAD=shim, LD_LIBRARY_PATH=tree.libdir)
    command = ["dpdk-testpmd", "-d", tree.plugin, "--no-pci", "--no-huge", "-m", "256", "--no-telemetry",
               "--lcores=0@(0-1),1@(0-1)", "--vdev=net_rnic0", "--", "-i", "--total-num-mbufs=4096"]
    code, said = run(*command, env=env, input="show port info all\nquit\n")
    built = subprocess.run(["pkg-config", "--modversion", "libdpdk"], text=True, capture_output=True, check=True).stdout
    built = ".".join(built.split(".")[:2])
    year, month = (str(number), built[3:]) if part == "year" else (built[:2], f"{number:02}")
    line = f"net_rnic: this plugin was built for DPDK {built} and the process has DPDK {year}.{month}"
    if taken:
        # Without the embedded device the driver is there and says what it lacks.
        assert line[:40] not in said and ("Driver name: net_rnic" in said or "no software RNIC" in said), said
    else:
        assert line in said and "Driver name: net_rnic" not in said, said
        # DPDK knows nobody of that name.
        assert 'failed to parse device "net_rnic0"' in said, said
