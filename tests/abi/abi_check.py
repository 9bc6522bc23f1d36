#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the binary interface, one per subcommand; each prints what is wrong and exits 1, or prints nothing.

    headers  --cc CC --std STD [--include DIR]       each public header alone and all together, without a warning
    probe    --cc CC                                 every name of each reference has the reference's value
    macros   --cc CC --std STD                       macros.c uses every macro and compiles without a warning
    run      --cc CC --std STD --lib FILE [...]      macros.c, built and linked so, runs without a failed check
    module   --cc CC --std STD                       PMIx_server_init, called by a host, tells the size of its module
    symbols  --lib FILE                              the library exports what symbols.txt lists, nothing else
    calls    --cc CC --lib FILE                      a C program that names every function and datum links and runs

CC may be a C or a C++ compiler; STD decides (c99, c11, c++17, ...). Nothing is written outside a temporary folder.
"""
import argparse
import csv
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")
HEADERS = ["pmix.h", "pmix_common.h", "pmix_deprecated.h", "pmix_server.h", "pmix_tool.h", "pmix_version.h",
           "src/include/pmix_frameworks.h"]
DATA = ["pmix_framework_names"]  # the rest are functions
# What it contains: the names of OpenPMIx 5.0 and those of 6.0 to 7.0 together, in their order.
FRAMEWORKS = ("bfrops gds pcompress pdl pgpu pif pinstalldirs plog pmdl pnet preg psec psensor psquash pstat ptl "
              "mca").split()
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

# Lines of a reference that ours need not repeat, and why. Everything else must be equal.
VERSION = "the headers claim 7.0.0"
HEARTBEAT = "a macro until 6.0, an exported function since: we follow 6.1.0"
LOWER_CASE = "inlined in 4.2.2, macros over the PMIx_ function since 4.2.9: we follow the newest"
MODULE = "the tail moved in every release: 28 slots (224 bytes) in 4.2.2, 29 in 5.0, 32 in 6.1.0, which we follow"
CAPABILITY = "5.0.10 has a bit mask, 6.1.0 numbers: the base bit keeps its mask value, the rest are 6.1.0's"
SEVEN = "it had the value or string of another name until 6.1: we follow 7.0.0rc1"
ABILITY = "a capability of OpenPMIx's own parts, or one that this library has not"
FABRIC = "4.2.9 to 5.0.10 mistype the parameter and do not export it: we follow 6.1.0"
ALLOWED = {
    "debian-4.2.2": {
        'PMIX_FABRIC_DEVICE_COORDINATES "pmix.fab.coord"': SEVEN,
        'PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT "pmix.jctrl.ckptsig"': SEVEN,
        'PMIX_QUERY_SUPPORTED_QUALIFIERS "pmix.qry.quals"': SEVEN,
        "PMIX_NUMERIC_VERSION 262658": VERSION,
        "PMIX_VERSION_MAJOR 4": VERSION,
        "PMIX_VERSION_MINOR 2": VERSION,
        "PMIX_VERSION_RELEASE 2": VERSION,
        "macro:PMIx_Heartbeat 0": HEARTBEAT,
        "prototype:PMIx_Heartbeat macro": HEARTBEAT,
        "prototype:pmix_argv_append_nosize ok": LOWER_CASE,
        "prototype:pmix_argv_append_unique_nosize ok": LOWER_CASE,
        "prototype:pmix_argv_copy ok": LOWER_CASE,
        "prototype:pmix_argv_count ok": LOWER_CASE,
        "prototype:pmix_argv_free ok": LOWER_CASE,
        "prototype:pmix_argv_join ok": LOWER_CASE,
        "prototype:pmix_argv_prepend_nosize ok": LOWER_CASE,
        "prototype:pmix_argv_split ok": LOWER_CASE,
        "prototype:pmix_argv_split_inter ok": LOWER_CASE,
        "prototype:pmix_argv_split_with_empty ok": LOWER_CASE,
        "prototype:pmix_check_true ok": LOWER_CASE,
        "prototype:pmix_setenv ok": LOWER_CASE,
        "sizeof:pmix_server_module_t 224": MODULE,
    },
    "5.0.10": {
        'PMIX_FABRIC_DEVICE_COORDINATES "pmix.fab.coord"': SEVEN,
        'PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT "pmix.jctrl.ckptsig"': SEVEN,
        'PMIX_QUERY_SUPPORTED_QUALIFIERS "pmix.qry.quals"': SEVEN,
        "PMIX_CAPABILITIES 1": CAPABILITY,
        "PMIX_NUMERIC_VERSION 327690": VERSION,
        "PMIX_VERSION_MAJOR 5": VERSION,
        "PMIX_VERSION_RELEASE 10": VERSION,
        "macro:PMIx_Heartbeat 0": HEARTBEAT,
        "prototype:PMIx_Fabric_construct mismatch": FABRIC,
        "prototype:PMIx_Heartbeat macro": HEARTBEAT,
        "offsetof:pmix_server_module_t.session_control 224": MODULE,
        "sizeof:pmix_server_module_t 232": MODULE,
    },
    "debian-5.0.7": {
        'PMIX_FABRIC_DEVICE_COORDINATES "pmix.fab.coord"': SEVEN,
        'PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT "pmix.jctrl.ckptsig"': SEVEN,
        'PMIX_QUERY_SUPPORTED_QUALIFIERS "pmix.qry.quals"': SEVEN,
        "PMIX_CAPABILITIES 1": CAPABILITY,
        "PMIX_NUMERIC_VERSION 327687": VERSION,
        "PMIX_VERSION_MAJOR 5": VERSION,
        "PMIX_VERSION_RELEASE 7": VERSION,
        "macro:PMIx_Heartbeat 0": HEARTBEAT,
        "prototype:PMIx_Fabric_construct mismatch": FABRIC,
        "prototype:PMIx_Heartbeat macro": HEARTBEAT,
        "offsetof:pmix_server_module_t.session_control 224": MODULE,
        "sizeof:pmix_server_module_t 232": MODULE,
    },
    "debian-7.0.0rc1": {
        "PMIX_CAP_BASE 0": CAPABILITY,
        "PMIX_CAP_CLI_MATCH 21": ABILITY,
        "PMIX_CAP_CLI_ORDER 10": ABILITY,
        "PMIX_CAP_CLI_QUAL_VALUE 8": ABILITY,
        "PMIX_CAP_DEVICE_ENUM 15": ABILITY,
        "PMIX_CAP_GET_NUMBER_ENUMS 18": ABILITY,
        "PMIX_CAP_MCA_FW_VERSION 16": ABILITY,
    },
    "6.1.0": {
        'PMIX_FABRIC_DEVICE_COORDINATES "pmix.fab.coord"': SEVEN,
        'PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT "pmix.jctrl.ckptsig"': SEVEN,
        'PMIX_QUERY_SUPPORTED_QUALIFIERS "pmix.qry.quals"': SEVEN,
        'PMIX_PROGRESS_THREAD_NAME "pmix.evname"': SEVEN,
        "PMIX_CAP_BASE 0": CAPABILITY,
        "PMIX_ERR_CHANGE_SIGN -401": SEVEN,
        "PMIX_ERR_LOST_PRECISION -400": SEVEN,
        "PMIX_NUMERIC_VERSION 393472": VERSION,
        "PMIX_VERSION_MAJOR 6": VERSION,
        "PMIX_VERSION_MINOR 1": VERSION,
    },
}


def run(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, **kw)


def language(std):
    return ["-x", "c++" if "++" in std else "c", "-std=" + std]


def compiler(a, warnings=STRICT):
    return shlex.split(a.cc) + shlex.split(a.cflags) + language(a.std) + warnings + ["-I", a.include]


def fail(text):
    print(text)
    return 1


def headers(a):
    bad = 0
    texts = ["#include <%s>\n" % h for h in HEADERS]
    texts.append("".join(texts))
    texts.append("".join(reversed(texts[:-1])))
    for text in texts:
        # Twice: the guards must hold. The object is not empty, which -pedantic asks of C.
        o = run(compiler(a) + ["-fsyntax-only", "-"], input=text + text + "int some_object;\n")
        if o.returncode:
            bad = fail("%s%s" % (text, o.stdout))
    return bad


def probe(a):
    o = run([sys.executable, os.path.join(HERE, "probe.py"), "--include", a.include, "--tables",
             os.path.join(HERE, "tables"), "--cc", a.cc, "--all"])
    if o.returncode:
        return fail(o.stdout)
    ours = set(o.stdout.splitlines())
    bad = 0
    for version, allowed in sorted(ALLOWED.items()):
        with open(os.path.join(HERE, "reference", "probe-%s.txt" % version)) as f:
            reference = {line.rstrip("\n") for line in f}
        for line in sorted(reference - ours):
            if not line.endswith(" absent") and line not in allowed:
                bad = fail("%s has: %s" % (version, line))
        for line in sorted(set(allowed) - (reference - ours)):
            bad = fail("%s: no longer a difference, take it off the list: %s" % (version, line))
    return bad


def macros(a):
    bad = 0
    with open(os.path.join(HERE, "macros.c")) as f:
        used = set(re.findall(r"\w+", f.read()))
    # USUAL pastes the names of families together.
    families = {w for w in re.findall(r"USUAL\(\w+, (\w+)\)", open(os.path.join(HERE, "macros.c")).read())}
    for family in families:
        used |= {"PMIX_%s_%s" % (family, verb) for verb in ("CONSTRUCT", "DESTRUCT", "CREATE", "FREE")}
    with open(os.path.join(HERE, "tables", "macros.csv"), newline="") as f:
        for r in csv.DictReader(f):
            present = any(r["in_" + v] == "yes" for v in ("4_2_2", "5_0_10", "6_1_0", "7_0_0rc1"))
            if present and r["name"] not in used and r["name"] != "PMIx_Heartbeat":  # a function now
                bad = fail("macros.c does not use " + r["name"])
    o = run(compiler(a) + ["-D_GNU_SOURCE", "-c", os.path.join(HERE, "macros.c"), "-o", os.devnull])
    return fail(o.stdout) if o.returncode else bad


def build_and_run(a, source, warnings):
    with tempfile.TemporaryDirectory() as tmp:
        exe = os.path.join(tmp, "program")
        if a.release:
            a.include = os.path.join(tmp, "include")
            o = run([sys.executable, os.path.join(HERE, "header_view.py"), a.release, "--include", INCLUDE, "--out", a.include])
            if o.returncode:
                return fail(o.stdout)
            source = [source] if source.endswith("arrays.c") else ["-include", "view.h", source]
            bad = imports(a, source, warnings, tmp)
            if bad:
                return bad
        else:
            source = [source]
        lib = [os.path.abspath(a.lib), "-Wl,-rpath," + os.path.dirname(os.path.abspath(a.lib))] if a.lib else []
        o = run(compiler(a, warnings) + ["-D_GNU_SOURCE", *source, "-x", "none"] + lib + ["-o", exe])
        if o.returncode:
            return fail(o.stdout)
        o = run([exe])
        return fail("exit status %d\n%s" % (o.returncode, o.stdout)) if o.returncode else 0


def imports(a, source, warnings, tmp):
    """What a program of that release needs of a library, its own library had."""
    with open(os.path.join(HERE, "tables", "functions.csv"), newline="") as f:
        kind = "kind_" + a.release.replace(".", "_")
        exported = {r["name"] for r in csv.DictReader(f) if r[kind] == "exported" or r[kind].startswith("declared")}
    o = run(compiler(a, warnings) + ["-D_GNU_SOURCE", *source, "-c", "-o", os.path.join(tmp, "object")])
    if o.returncode:
        return fail(o.stdout)
    needed = re.findall(r" U (PMIx_\w+)", run(["nm", "-u", os.path.join(tmp, "object")]).stdout)
    strange = sorted(set(needed) - exported)
    return fail("%s has no %s" % (a.release, " ".join(strange))) if strange or not needed else 0


def run_macros(a):
    warnings = ["-w"] if a.foreign else STRICT
    return build_and_run(a, os.path.join(HERE, "macros.c"), warnings)


def run_arrays(a):
    return build_and_run(a, os.path.join(HERE, "arrays.c"), ["-w"] if a.foreign else STRICT)


def module(a):
    a.lib = None
    return build_and_run(a, os.path.join(HERE, "module_size.c"), STRICT)


def listed():
    with open(os.path.join(HERE, "symbols.txt")) as f:
        return f.read().split()


# Names without the prefix PMIx_ are held against the same list. rows: G21
def symbols(a):
    bad = 0
    want = listed()
    if want != sorted(set(want)):
        bad = fail("symbols.txt is not sorted")
    o = run(["nm", "-D", "--defined-only", a.lib])
    if o.returncode:
        return fail(o.stdout)
    have = {line.split()[-1] for line in o.stdout.splitlines() if line.split()}
    for s in sorted(set(want) - have):
        bad = fail("missing: " + s)
    for s in sorted(have - set(want)):
        bad = fail("must not be exported: " + s)
    kinds = {line.split()[-1]: line.split()[-2] for line in o.stdout.splitlines() if line.split()}
    for s in sorted(have & set(want)):
        if kinds[s] not in ("BD" if s in DATA else "T"):
            bad = fail("%s is of kind %s" % (s, kinds[s]))
    o = run(["readelf", "-dVW", a.lib])
    if "Library soname: [libpmix.so.2]" not in o.stdout:
        bad = fail("the soname is not libpmix.so.2")
    if ".gnu.version_d" in o.stdout:
        bad = fail("the library has version nodes: programs linked with it would not run on another libpmix.so.2")
    if not a.sanitized:
        for need in re.findall(r"\(NEEDED\).*\[(.*)\]", o.stdout):
            if need.startswith(("libstdc++", "libgcc_s", "libm.", "libz.", "libhwloc", "libevent")):
                bad = fail("the library needs " + need)
    return bad


def calls(a):
    text = "".join("#include <%s>\n" % h for h in HEADERS)
    # What no header declares any more: the macros of 4.0 call it.
    undeclared = "".join("void (%s)(void);\n" % s for s in listed() if s.startswith("pmix_") and s not in DATA)
    text += "#include <string.h>\n" + undeclared + "typedef void (*any)(void);\nextern const any every_function[];\nconst any every_function[] = {\n"
    text += "".join("    (any) %s,\n" % s for s in listed() if s not in DATA)
    # Open MPI reads the names up to NULL, whatever their number.
    text += "};\nstatic const char* const names[] = {%s};\n" % ", ".join('"%s"' % n for n in FRAMEWORKS)
    text += "int main(void) {\n    for (int i = 0; i < %d; i++)\n" % len(FRAMEWORKS)
    text += "        if (pmix_framework_names[i] == NULL || strcmp(pmix_framework_names[i], names[i]) != 0) return 2 + i;\n"
    text += "    if (pmix_framework_names[%d] != NULL) return 100;\n" % len(FRAMEWORKS)
    text += "    return every_function[0] == every_function[1];\n}\n"
    with tempfile.TemporaryDirectory() as tmp:
        source = os.path.join(tmp, "calls.c")
        with open(source, "w") as f:
            f.write(text)
        a.std = "c11"
        return build_and_run(a, source, ["-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("check", choices=["headers", "probe", "macros", "run", "arrays", "module", "symbols", "calls"])
    p.add_argument("--cc", default="cc")
    p.add_argument("--cflags", default="")
    p.add_argument("--std", default="c11")
    p.add_argument("--include", default=INCLUDE)
    p.add_argument("--lib")
    p.add_argument("--foreign", action="store_true", help="the headers are not ours: take their warnings")
    p.add_argument("--release", help="run, arrays: as a program of this release is compiled (header_view.py)")
    p.add_argument("--sanitized", action="store_true", help="the library carries a sanitizer's runtime")
    a = p.parse_args()
    return {"headers": headers, "probe": probe, "macros": macros, "run": run_macros, "arrays": run_arrays,
            "module": module, "symbols": symbols, "calls": calls}[a.check](a)


if __name__ == "__main__":
    sys.exit(main())
