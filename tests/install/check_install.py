#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs the library into a private directory and uses it from there, as somebody who has only that tree.

    check_install.py CASE --build DIR --source DIR --pmixrun FILE [--moved] [--cc CC --cxx CXX] [--package NAME]

CASE  tree       the files and links are those, and no others
      dist       the tarball of the sources: the same for the same commit, built without git, descriptions filled
      pkgconfig  examples in C99 and C11 and a client in C++17, with what pkg-config says, run under pmixrun
      wrapper    the same example with pmixcc
      static     the same with pkg-config --static: our archive beside shared others, and nothing shared at all
      cmake      a project with find_package(), against the shared library and the archive
      version    header, pmix.pc, CMake package, Debian package and library name one release
      flags      what the builder's own flags say of warnings holds, whatever the project's say
      staged     DESTDIR: pkg-config with the staging directory as its system root
      packages   cpack's Debian packages, installed by dpkg into a clean root: what pkgconfig and cmake do, from there

--moved: the tree is moved after it was installed."""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = {
    "include": {"pmix.h", "pmix_common.h", "pmix_deprecated.h", "pmix_server.h", "pmix_tool.h", "pmix_version.h"},
    "include/src/include": {"pmix_frameworks.h"},
    "LIB": {"libpmix.so", "libpmix.so.2", "libpmix.so.2.N", "libpmix.a"},
    "LIB/pkgconfig": {"pmix.pc"},
    "LIB/cmake/PMIx": {"PMIxConfig.cmake", "PMIxConfigVersion.cmake", "PMIxTargets.cmake", "PMIxTargets-TYPE.cmake",
                       "pmix-config.cmake", "pmix-config-version.cmake"},
    "bin": {"palloc", "pattrs", "pctrl", "pevent", "plookup", "pmix_info", "pmixcc", "pps", "pquery", "wireup-top"},
    "share/man/man1": {"palloc.1", "pattrs.1", "pctrl.1", "pevent.1", "plookup.1", "pmix_info.1", "pmixcc.1", "pps.1",
                       "pquery.1", "wireup-top.1"},
    "share/doc/wireup": {"LICENSE", "README.md"},
}


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800, check=False,
                          **more)
    if done.returncode != 0:
        sys.exit("%s\nfailed (%d):\n%s" % (" ".join(command), done.returncode, done.stdout))
    return done.stdout


def cached(build, name):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(r"^%s:\w+=(.*)$" % name, cache.read(), re.MULTILINE).group(1)


class Installed:
    """One installed tree and the ways to use it."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.lib = cached(options.build, "CMAKE_INSTALL_LIBDIR")
        self.loaded_from = None  # where the library is found when the program runs, if not in libdir()
        self.prefix = os.path.join(work, "first place")
        run(["cmake", "--install", options.build, "--prefix", self.prefix])
        if options.moved:
            moved = os.path.join(work, "other", "place")
            os.makedirs(os.path.dirname(moved))
            os.rename(self.prefix, moved)
            self.prefix = moved

    def libdir(self):
        return os.path.join(self.prefix, self.lib)

    def pkg_config(self, *arguments):
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(self.libdir(), "pkgconfig"))
        text = run(["pkg-config", *arguments, "pmix"], env=environment)
        for path in re.findall(r"-[IL]((?:\\ |\S)+)", text):
            assert os.path.isdir(path.replace("\\ ", " ")), "pkg-config names no directory: " + path
        return text

    def compile(self, compiler, flags, source, name, libraries):
        """Through a shell, as users do it: pkg-config escapes what a shell takes apart."""
        program = os.path.join(self.work, name)
        run(["sh", "-c", "exec %s -Wall -Wextra -Werror -pedantic %s %s '%s' -o '%s' %s -lpthread" % (
            compiler, flags, self.pkg_config("--cflags").strip(), source, program, libraries)])
        return program

    def run_job(self, program, wanted, ours=True):
        environment = dict(os.environ)
        command = [self.options.pmixrun, "-n", "3", "--nodes", "2"]
        if ours:
            library = self.loaded_from or self.libdir()
            command += ["-x", "LD_LIBRARY_PATH=" + library]
            mapped = run(["ldd", program], env=dict(environment, LD_LIBRARY_PATH=library))
            assert "libpmix.so.2 => " + library in mapped, mapped
        text = run(command + [program], env=environment)
        assert re.search(wanted, text), "output of %s lacks %s:\n%s" % (program, wanted, text)

    def source(self, name):
        return os.path.join(self.options.source, "examples", name)


HELLO = "3 ranks on 2 nodes: each found"
GREETING = "rank 2: a greeting from C\\+\\+"


def tree(installed):
    found = {}
    for top, _, files in os.walk(installed.prefix):
        for name in files:
            directory = os.path.relpath(top, installed.prefix)
            directory = "LIB" + directory[len(installed.lib):] if directory.startswith(installed.lib) else directory
            name = re.sub(r"^(libpmix\.so\.2)\.[0-9.]+$", r"\1.N", name)
            found.setdefault(directory, set()).add(re.sub(r"^(PMIxTargets)-\w+", r"\1-TYPE", name))
    # Where Doxygen was not there, the manual's pages of the library are not: all of them or none.
    manual = {d: found.pop(d) for d in ("share/man/man3", "share/man/man7") if d in found}
    if manual:
        exported = set()
        for header in TREE["include"]:
            with open(os.path.join(installed.prefix, "include", header), encoding="utf-8") as text:
                exported |= set(re.findall(r"^PMIX_EXPORT [^;(]*?\b(PMIx_\w+)\(", text.read(), re.M))
        assert manual["share/man/man3"] == {name + ".3" for name in exported}, "pages of functions"
        assert manual["share/man/man7"] == {"pmix-attributes.7", "pmix-server-module.7", "wireup-environment.7"}
    assert found == TREE, "installed: %s" % sorted((d, sorted(n)) for d, n in found.items() if TREE.get(d) != n)
    libdir = installed.libdir()
    # Slurm opens the name without a number, everybody else the one with 2: both must be links to the one file.
    for name in "libpmix.so", "libpmix.so.2":
        path = os.path.join(libdir, name)
        assert os.path.islink(path) and os.path.dirname(os.readlink(path)) == "", name
    assert os.path.realpath(os.path.join(libdir, "libpmix.so")).startswith(os.path.realpath(libdir) + "/libpmix.so.2.")
    assert "libpmix.so.2" in run(["readelf", "-d", os.path.join(libdir, "libpmix.so")])
    # Without help from the environment, wherever the tree lies.
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for name in TREE["bin"] - {"pmixcc"}:
        mapped = run(["ldd", os.path.join(installed.prefix, "bin", name)], env=environment)
        used = re.search(r"libpmix\.so\.2 => (.*) \(", mapped)
        assert used and os.path.realpath(used.group(1)).startswith(os.path.realpath(libdir)), mapped
    build = os.path.realpath(installed.options.build)
    for top, _, files in os.walk(installed.prefix):
        for name in files:
            if name.endswith((".cmake", ".pc", ".h")):
                with open(os.path.join(top, name), encoding="utf-8") as text:
                    assert build not in text.read(), name + " names the build directory"


def pkgconfig(installed):
    options = installed.options
    libraries = installed.pkg_config("--libs").strip()
    for standard in "c99", "c11":
        flags = "-std=%s -D_POSIX_C_SOURCE=200809L" % standard
        for example, wanted in ("hello", HELLO), ("client", "rank 2 of 3"), ("publish", "rank 0 offers"):
            program = installed.compile(options.cc, flags, installed.source(example + ".c"), example, libraries)
            installed.run_job(program, wanted)
    program = installed.compile(options.cxx, "-std=c++17", os.path.join(HERE, "consumer/in_cpp.cpp"), "in_cpp", libraries)
    installed.run_job(program, GREETING)


def dist(installed):
    """The target dist: one file for one commit, which is built without git, and package descriptions that are whole."""
    options = installed.options
    made = []
    build = os.path.join(installed.work, "build")
    run(["cmake", "-G", "Ninja", "-S", options.source, "-B", build, "-DWIREUP_TESTS=OFF"])
    for _ in "one", "two":
        # Compressed a little: a tarball takes a second instead of ten.
        told = run(["cmake", "--build", build, "--target", "dist"], env=dict(os.environ, XZ_OPT="-0"))
        made.append(re.search(r"\S+/wireup-[0-9.]+\.tar\.xz", told).group(0))
        with open(made[-1], "rb") as file:
            made[-1] = (made[-1], hashlib.sha256(file.read()).hexdigest())
    assert made[0][1] == made[1][1], "two tarballs of one commit differ: %s" % made
    place = os.path.join(installed.work, "unpacked")
    os.mkdir(place)
    run(["tar", "-xf", made[0][0], "-C", place])
    (name,) = os.listdir(place)
    place = os.path.join(place, name)
    assert not os.path.exists(os.path.join(place, ".git"))
    # Neither a program of that name nor a repository above the place. Of the library one module, whose files ask for the
    # release's number and for what is generated: all of them are the package builds' to compile.
    no_git = os.path.join(installed.work, "no git")
    os.mkdir(no_git)
    with open(os.path.join(no_git, "git"), "w", encoding="utf-8") as program:
        program.write("#!/bin/sh\necho called >>'%s/called'\nexit 127\n" % no_git)
    os.chmod(program.name, 0o755)
    environment = dict(os.environ, GIT_DIR="/nonexistent", PATH=no_git + ":" + os.environ["PATH"])
    run(["cmake", "-G", "Ninja", "-S", place, "-B", place + "/build/x", "-DWIREUP_TESTS=OFF", "-DWIREUP_UNITY=ON",
         "-DCMAKE_BUILD_TYPE=Debug"], env=environment)
    run(["cmake", "--build", place + "/build/x", "--target", "wireup_attributes", "wireup_runtime"], env=environment)
    assert not os.path.exists(os.path.join(no_git, "called")), "git is called by what is built from the tarball"
    with open(place + "/debian/control", encoding="utf-8") as text:
        control = text.read()
    assert re.findall(r"^Package: (.*)$", control, re.MULTILINE) == ["libpmix2", "libpmix-dev", "wireup-tools"], control
    with open(place + "/wireup.spec", encoding="utf-8") as text:
        spec = text.read()
    for text in control, spec:
        assert "%LIBPMIX%" not in text and "%RENAMED%" not in text and not re.search(r"@[A-Z_]+@", text), text
    with open(place + "/debian/changelog", encoding="utf-8") as text:
        first = text.readline()
    words = cached(options.build, "CMAKE_PROJECT_VERSION")
    assert name == "wireup-" + words and re.search(r"\+wireup%s-" % re.escape(words), first), first
    assert re.search(r"^Version: %s$" % re.escape(words), spec, re.MULTILINE), spec


def wrapper(installed):
    """pmixcc: compiling and linking in one step and in two, with another compiler, and what it shows."""
    pmixcc = os.path.join(installed.prefix, "bin", "pmixcc")
    program, part = os.path.join(installed.work, "wrapped"), os.path.join(installed.work, "part.o")
    strict = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    run([pmixcc, *strict, installed.source("hello.c"), "-o", program])
    installed.run_job(program, HELLO)
    os.unlink(program)
    # A linker's flag among those for compiling is a warning of clang's, hence an error.
    environment = dict(os.environ, PMIX_CC=installed.options.other or installed.options.cc)
    run([pmixcc, *strict, "-c", installed.source("hello.c"), "-o", part], env=environment)
    run([pmixcc, part, "-o", program], env=environment)
    installed.run_job(program, HELLO)
    assert run([pmixcc, "--showme:command"], env=dict(os.environ, PMIX_CC="some cc")) == "some cc\n"
    assert "-I" in run([pmixcc, "--showme:compile"]) and "-lpmix" not in run([pmixcc, "--showme:compile"])
    assert run([pmixcc, "--showme:link"]).rstrip().endswith("-lpmix")
    assert run([pmixcc, "--showme:version"]).strip() == installed.pkg_config("--modversion").strip()
    shown = run([pmixcc, "--showme", "a.c"])
    assert shown.startswith("cc ") and " a.c " in shown and "-lpmix" in shown, shown
    refused = subprocess.run([pmixcc], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert refused.returncode == 2 and refused.stdout.startswith("usage: pmixcc"), refused
    failed = subprocess.run([pmixcc, "/nonexistent.c"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert failed.returncode not in (0, 2), failed


def static(installed):
    options = installed.options
    libraries = installed.pkg_config("--static", "--libs").strip()
    flags = "-std=c99 -D_POSIX_C_SOURCE=200809L"
    # Our archive, with whatever else there is: what a linker finds when there is no libpmix.so beside it.
    for name in os.listdir(installed.libdir()):
        if name.startswith("libpmix.so"):
            os.unlink(os.path.join(installed.libdir(), name))
    program = installed.compile(options.cc, flags, installed.source("hello.c"), "mixed", libraries)
    assert "libpmix" not in run(["ldd", program])
    installed.run_job(program, HELLO, ours=False)
    # Nothing shared at all. The C library warns of dlopen, by which hwloc is found.
    archives = ["libevent_core.a", "libz.a", "libc.a"]
    if all(os.path.isabs(run([options.cc, "-print-file-name=" + a]).strip()) for a in archives):
        program = installed.compile(options.cc, flags + " -static", installed.source("hello.c"), "static", libraries)
        installed.run_job(program, HELLO, ours=False)


def cmake(installed):
    options = installed.options
    build = os.path.join(installed.work, "consumer")
    run(["cmake", "-G", "Ninja", "-S", os.path.join(HERE, "consumer"), "-B", build, "-DCMAKE_C_COMPILER=" + options.cc,
         "-DCMAKE_CXX_COMPILER=" + options.cxx, "-DCMAKE_PREFIX_PATH=" + installed.prefix,
         "-DCONSUMER_PACKAGE=" + options.package, "-DEXAMPLES=" + installed.source("")])
    run(["cmake", "--build", build, "-j2"])
    for kind in "pmix", "pmix_static":
        for program, wanted in ("in_c", HELLO), ("in_cpp", GREETING):
            path = os.path.join(build, program + "_" + kind)
            shared = "libpmix" in run(["ldd", path])
            assert shared == (kind == "pmix"), path
            installed.run_job(path, wanted, ours=shared)


def flags(installed):
    build = os.path.join(installed.work, "flagged")
    run(["cmake", "-G", "Ninja", "-S", installed.options.source, "-B", build, "-DWIREUP_WERROR=ON", "-DWIREUP_TESTS=OFF",
         "-DCMAKE_C_FLAGS=-Wno-error=shadow -Wl,-z,now", "-DCMAKE_CXX_FLAGS=-Wno-error -Wno-vla"])
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        commands = [entry["command"].split() for entry in json.load(text)]
    for command in commands:
        wanted = ["-Wno-error", "-Wno-vla"] if command[-1].endswith((".cpp", ".cxx")) else ["-Wno-error=shadow"]
        last = {word: i for i, word in enumerate(command)}
        assert all(last[word] > max(last["-Werror"], last["-Wvla"], last["-Wshadow"]) for word in wanted), " ".join(command)
        assert command.count("-Wl,-z,now") < 2, " ".join(command)


def staged(installed):
    """What a packager does: everything below DESTDIR, configured for /usr."""
    stage = os.path.join(installed.work, "stage")
    run(["cmake", "--install", installed.options.build, "--prefix", "/usr"], env=dict(os.environ, DESTDIR=stage))
    installed.prefix = stage + "/usr"
    os.environ["PKG_CONFIG_SYSROOT_DIR"] = stage
    flags = installed.pkg_config("--cflags", "--libs")
    paths = [p for p in re.findall(r"-[IL](\S+)", flags)]
    assert len(paths) == 2 and all(os.path.isdir(p) and p.startswith(stage) for p in paths), flags
    with open(os.path.join(installed.libdir(), "pkgconfig/pmix.pc"), encoding="utf-8") as text:
        assert stage not in text.read()


def needs(path):
    """The shared libraries that a file names, without those of the C library."""
    text = run(["readelf", "-d", path])
    return {n for n in re.findall(r"NEEDED.*\[(.*)\]", text) if not re.match(r"lib[cm]\.so|ld-linux", n)}


def debian_packages(installed):
    """cpack's packages, by name."""
    made = os.path.join(installed.work, "packages")
    run(["cpack", "--config", os.path.join(installed.options.build, "CPackConfig.cmake"), "-B", made,
         "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"])
    return {re.sub(r"_.*", "", name): os.path.join(made, name) for name in os.listdir(made) if name.endswith(".deb")}


def version(installed):
    options, words = installed.options, {}
    program = installed.compile(options.cc, "-std=c11 -D_GNU_SOURCE", os.path.join(HERE, "consumer/version.c"), "version",
                                installed.pkg_config("--libs").strip())
    told = run([program], env=dict(os.environ, LD_LIBRARY_PATH=installed.libdir()))
    words.update(line.split(": ", 1) for line in told.splitlines())
    library = words.pop("PMIx_Get_version").split()
    words["PMIx_Get_version, second word"] = library[1]
    # Not to be taken for the release: it is the third thing said, in parentheses.
    assert library[0] == "Wireup" and library[2:4] == ["(library", cached(options.build, "CMAKE_PROJECT_VERSION") + ","], library
    words["pmix.pc"] = installed.pkg_config("--modversion").strip()
    consumer = os.path.join(installed.work, "consumer")
    os.mkdir(consumer)
    with open(consumer + "/CMakeLists.txt", "w", encoding="ascii") as text:
        text.write("cmake_minimum_required(VERSION 3.22)\nproject(consumer C)\nfind_package(PMIx REQUIRED)\n"
                   "file(WRITE ${CMAKE_BINARY_DIR}/found ${PMIx_VERSION})\n")
    run(["cmake", "-G", "Ninja", "-S", consumer, "-B", consumer + "/build", "-DCMAKE_PREFIX_PATH=" + installed.prefix])
    with open(consumer + "/build/found", encoding="ascii") as text:
        words["CMake package"] = text.read()
    words["environment of a rank"] = run([options.pmixrun, "sh", "-c", "echo $PMIX_VERSION"]).strip()
    if shutil.which("dpkg-deb"):
        files = debian_packages(installed)
        for name in "libpmix2-wireup", "libpmix-wireup-dev":
            provided = run(["dpkg-deb", "-f", files[name], "Provides"])
            found = re.findall(r"\(= ([^)]*)\)", provided)
            assert found, "%s provides nothing of a version: %s" % (name, provided)
            words.update(("%s provides (%d)" % (name, i), word) for i, word in enumerate(found))
    assert len(set(words.values())) == 1, "more than one release: %s" % words
    # For configure scripts that know no newer release.
    program = installed.compile(options.cc, "-std=c11 -D_GNU_SOURCE -DPMIX_CLAIM_RELEASE_5",
                                os.path.join(HERE, "consumer/version.c"), "older", installed.pkg_config("--libs").strip())
    told = run([program], env=dict(os.environ, LD_LIBRARY_PATH=installed.libdir()))
    assert "header, three numbers: 5.0.10\n" in told and "header, one number: 5.0.10\n" in told, told


def packages(installed):
    options, root = installed.options, os.path.join(installed.work, "root")
    files = debian_packages(installed)
    assert set(files) == {"libpmix2-wireup", "libpmix-wireup-dev", "wireup-tools"}, files
    library = run(["dpkg-deb", "-f", files["libpmix2-wireup"]])
    # Beside Debian's, whatever release it is for.
    assert re.search(r"^Provides: .*\blibpmix2 \(= ", library, re.MULTILINE) and "Conflicts" not in library, library
    # A root that has nothing but dpkg's own book; what the packages depend on is this machine's.
    for directory in "info", "updates", "triggers":
        os.makedirs(os.path.join(root, "var/lib/dpkg", directory))
    open(os.path.join(root, "var/lib/dpkg/status"), "w", encoding="ascii").close()
    run(["dpkg", "--root=" + root, "--force-depends", "--force-not-root", "--force-script-chrootless", "--no-triggers",
         "--log=/dev/null", "-i", *files.values()])
    assert "Status: install ok" in run(["dpkg", "--root=" + root, "-s", "libpmix2-wireup"])
    installed.prefix = root + "/usr"
    found = [os.path.join(top, name) for top, _, names in os.walk(root + "/usr") for name in names]
    # The package depends on what the library needs.
    installed.loaded_from = os.path.join(installed.prefix, "lib", run([options.cc, "-print-multiarch"]).strip(), "wireup")
    real = os.path.realpath(os.path.join(installed.loaded_from, "libpmix.so.2"))
    with open(root + "/etc/ld.so.conf.d/00-wireup.conf", encoding="ascii") as text:
        assert root + text.read().strip() == installed.loaded_from
    # Of the C library, what the files ask for and no more.
    symbols = run(["objdump", "-T", real, os.path.join(installed.loaded_from, "bin/pmixrun")])
    newest = max([int(n) for n in v.split(".")] for v in re.findall(r"GLIBC_([0-9.]+)", symbols))
    assert "libc6 (>= %s)" % ".".join(map(str, newest)) in library, (newest, library)
    # The commands, by names that OpenPMIx's have too.
    assert "Wireup" in run([root + "/usr/bin/pps", "--version"], env=dict(os.environ, LD_LIBRARY_PATH=installed.loaded_from))
    for name in needs(real):
        owner = run(["sh", "-c", "dpkg -S '*/%s' | head -n 1" % name]).split(":")[0]
        assert owner and owner in library, "%s of %s is not among the dependencies" % (name, owner)
    # Where Debian's consumers look by full name, there is this library too.
    links = [p for p in found if "/pmix2/lib/" in p]
    assert len(links) == 2 and all(os.path.realpath(p) == real for p in links), links
    pkgconfig(installed)
    cmake(installed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["tree", "dist", "pkgconfig", "wrapper", "static", "cmake", "version", "flags", "staged",
                                         "packages"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--pmixrun", required=True)
    parser.add_argument("--moved", action="store_true")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--other", default="cc", help="a second C compiler")
    parser.add_argument("--package", default="PMIx")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wireup-install.") as work:
        globals()[options.case](Installed(options, work))


main()
