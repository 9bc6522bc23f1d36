#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrows between modules go down only, in the symbols too: what a declaration in the wrong place, which no #include
shows, would link upwards.

usage: module_links.py NM LIST   LIST: a file with lines "module object", one per object file of the library
       module_links.py --self-test
"""
import subprocess
import sys

BELOW = {
    "common": [],
    "dstore": ["common"],
    "transport": ["common"],
    "openpmix": ["transport", "dstore", "common"],
    "topology": ["transport", "common"],
    "server": ["openpmix", "transport", "dstore", "common"],
    "client": ["openpmix", "transport", "dstore", "common"],
    "runtime": ["client", "server", "topology", "openpmix", "transport", "dstore", "common"],
    "abi": ["runtime", "client", "server", "topology", "openpmix", "transport", "dstore", "common"],
}


def symbols(nm, objects):
    """Needed and defined symbols: what is defined is visible outside its object file."""
    needed, defined = {}, set()
    out = subprocess.run([nm, "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        where, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        if kind in ("U", "w"):
            needed.setdefault(name, where)
        elif kind.isupper() or kind == "u":
            defined.add(name)
    return needed, defined


def upward(modules):
    """modules: module -> (needed, defined). What cannot be found here or below, and is found elsewhere."""
    bad = []
    for module, (needed, _) in modules.items():
        may = set()
        for other in [module] + BELOW[module]:
            may |= modules.get(other, ({}, set()))[1]
        for name, where in sorted(needed.items()):
            if name in may:
                continue
            for other, (_, defined) in modules.items():
                if name in defined:
                    bad.append("%s (module %s) needs %s, which is defined in module %s" % (where, module, name, other))
    return bad


def self_test():
    fine = {"common": ({"malloc": "a.o", "f": "a.o"}, {"f", "inline"}), "abi": ({"f": "b.o"}, {"inline", "g"})}
    assert upward(fine) == []
    assert upward({**fine, "dstore": ({"inline": "d.o"}, set())}) == []
    assert len(upward({**fine, "dstore": ({"g": "d.o"}, set())})) == 1
    assert len(upward({"client": ({"s": "c.o"}, set()), "server": ({}, {"s"})})) == 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    nm, list_file = sys.argv[1:]
    objects = {}
    with open(list_file) as f:
        for line in f:
            module, path = line.split(None, 1)
            objects.setdefault(module, []).append(path.strip())
    missing = set(BELOW) - set(objects)
    if missing:
        sys.exit("no objects of " + ", ".join(sorted(missing)))
    bad = upward({module: symbols(nm, paths) for module, paths in objects.items()})
    if bad:
        sys.exit("\n".join(bad))


main()
