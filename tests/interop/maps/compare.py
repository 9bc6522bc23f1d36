"""Maps of two libpmix: what one makes the other must read, and find the nodes and ranks that went in.

usage: compare.py MAPS OUR_FOLDER OTHER_FOLDER
Exit 77 (skipped) when the other library is not there or is ours.
"""
# rows: V3
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

maps, ours, other = sys.argv[1:4]
rng = random.Random(7)


def dealt(nodes, ranks, block):
    """ranks in blocks over the nodes in turn"""
    held = [[] for _ in range(nodes)]
    for rank in range(ranks):
        held[rank // block % nodes].append(rank)
    return held


def at_random(nodes, ranks):
    """each node has one at least"""
    at = list(range(nodes)) + [rng.randrange(nodes) for _ in range(ranks - nodes)]
    rng.shuffle(at)
    held = [[] for _ in range(nodes)]
    for rank in range(ranks):
        held[at[rank]].append(rank)
    return held


def uneven(nodes):
    held, rank = [], 0
    for node in range(nodes):
        n = 1 + node * 7 % 5
        held.append(list(range(rank, rank + n)))
        rank += n
    return held


# name, nodes, the ranks of each
CASES = [
    ("one", ["login"], [[0]]),
    ("regular", ["node%d" % i for i in range(1, 9)], dealt(8, 32, 4)),
    ("cyclic", ["node%d" % i for i in range(8)], dealt(8, 32, 1)),
    ("blocks of two", ["n%d" % i for i in range(4)], dealt(4, 32, 2)),
    ("padded", ["nid%06d" % i for i in range(95, 130)], dealt(35, 70, 2)),
    ("padding that ends", ["n%02d" % i for i in range(95, 105)], dealt(10, 20, 2)),
    ("unpadded over a ten", ["n%d" % i for i in range(5, 15)], dealt(10, 10, 1)),
    ("sparse", ["n%04d" % i for i in range(1, 300, 3)], dealt(100, 100, 1)),
    ("sparse squares", ["n%05d" % (i * i) for i in range(60)], dealt(60, 120, 2)),
    ("descending", ["n%d" % i for i in range(9, 1, -1)], dealt(8, 8, 1)),
    ("two racks", ["r%d-n%02d" % (r, n) for r in range(3) for n in range(12)], dealt(36, 72, 2)),
    ("domains", ["n%d.site.org" % i for i in range(10, 20)], dealt(10, 20, 2)),
    ("names of all kinds", ["login", "gpu1", "gpu2", "node-a", "node-b", "x9y", "x10y", "7up"], dealt(8, 16, 2)),
    ("random names", sorted({"h" + "".join(rng.choices("abcdef", k=6)) for _ in range(40)}), None),
    ("uneven", ["node%03d" % i for i in range(50)], uneven(50)),
    ("irregular", ["node%03d" % i for i in range(50)], at_random(50, 400)),
    ("irregular and sparse", ["c%05d" % i for i in sorted(rng.sample(range(99999), 80))], at_random(80, 500)),
    ("many nodes", ["n%05d" % i for i in range(400)], dealt(400, 3200, 8)),
    ("many ranks", ["n1", "n2"], dealt(2, 20000, 1)),
]
CASES = [(name, nodes, held or dealt(len(nodes), 2 * len(nodes), 2)) for name, nodes, held in CASES]

LONG = ("long and random", ["h" + "".join(rng.choices("abcdefghij", k=12)) for _ in range(1500)], at_random(1500, 3000))


def compressed(text):
    """A list as OpenPMIx from 5.0.10 on wraps long ones."""
    stream = struct.pack("<I", len(text)) + zlib.compress(text.encode(), 9)
    return "x:" + (b"blob:\0component=zlib:\0size=%d:\0" % len(stream) + stream).hex()


def ask(folder, arguments, lines):
    env = dict(os.environ, LD_LIBRARY_PATH=folder)
    with tempfile.TemporaryDirectory() as tmp:
        env["TMPDIR"] = tmp
        run = subprocess.run([maps] + arguments, env=env, input="".join(l + "\n" for l in lines), capture_output=True,
                             text=True, timeout=800)
    library = next((l for l in run.stderr.splitlines() if l.startswith("library ")), run.stderr)
    if run.returncode != 0:
        sys.exit("%s %s: exit %d\n%s" % (folder, arguments, run.returncode, run.stderr))
    return library, run.stdout.splitlines()


def expected(nodes, held):
    return ";".join("%s=%s" % (n, ",".join(map(str, h))) for n, h in zip(nodes, held) if h)


def said(line):
    """Nodes without ranks are there with one library and not with the other."""
    return ";".join(part for part in line.split(";") if not part.endswith("="))


if not os.path.exists(os.path.join(other, "libpmix.so.2")):
    print("no libpmix.so.2 in %s" % other)
    sys.exit(77)
plain = []
for _, nodes, held in CASES:
    plain += [",".join(nodes), ";".join(",".join(map(str, h)) for h in held)]
made = {}
for name, folder in (("ours", ours), ("other", other)):
    library, made[name] = ask(folder, ["generate"], plain)
    if ("Wireup" in library) != (name == "ours"):
        print("%s: %s" % (name, library))
        sys.exit(77 if name == "other" else 1)
    if len(made[name]) != len(plain):
        sys.exit("%s made %d maps of %d lists" % (name, len(made[name]), len(plain)))

wrong = facts = 0
for writer in ("ours", "other"):
    for reader, folder in (("ours", ours), ("other", other)):
        for kind in ("string", "regex"):
            _, lines = ask(folder, ["read", kind], made[writer])
            for i, (name, nodes, held) in enumerate(CASES):
                facts += len(nodes)
                line = said(lines[i]) if i < len(lines) else "(nothing)"
                if line == expected(nodes, held):
                    continue
                wrong += 1
                print("%s, written by %s, read by %s as %s\n  map  %s\n  map  %s\n  said %s" % (
                    name, writer, reader, kind, made[writer][2 * i][:300], made[writer][2 * i + 1][:200], line[:300]))

# Long lists without a pattern: 4.2.2 has the compressed form, but neither makes it (its zlib never gains by its own
# reckoning) nor reads it (the client finds no node); later releases make it, and ours reads it, as text and as bytes.
_, nodes, held = LONG
lists = [",".join(nodes), ";".join(",".join(map(str, h)) for h in held)]
for name, folder in (("ours", ours), ("other", other)):
    made[name] = ask(folder, ["generate"], lists)[1]
    if any(line.startswith("blob:") for line in made[name]):
        sys.exit("%s made a compressed map" % name)
for kind in ("string", "regex"):
    for what, given, reader in (("compressed", [compressed(l) for l in lists], ours), ("ours", made["ours"], ours),
                                ("theirs", made["other"], ours)):
        facts += len(nodes)
        lines = ask(reader, ["read", kind], given)[1]
        if not lines or said(lines[0]) != expected(nodes, held):
            wrong += 1
            print("the long list, %s, as %s: %s" % (what, kind, lines[0][:200] if lines else "(nothing)"))
print("a compressed map, read by the other: %s" % ask(other, ["read", "regex"], [compressed(l) for l in lists[:2]])[1])


# Nodes without ranks: 4.2.2 leaves them out of longer maps, so that names and ranks no longer belong together, and refuses
# a job that has some. Ours keeps them.
lists = ["a,b,c,d", "0,1;;2;"]
made = {name: ask(folder, ["generate"], lists)[1] for name, folder in (("ours", ours), ("other", other))}
lines = ask(ours, ["read", "string"], made["ours"])[1]
if [said(l) for l in lines] != ["a=0,1;c=2"]:
    wrong += 1
    print("nodes without ranks: %s" % lines)
print("nodes without ranks: ours %s, theirs %s; ours read by the other: %s" % (
    made["ours"][1], made["other"][1], ask(other, ["read", "string"], made["ours"])[1]))

print("%d maps, 2 writers, 2 readers, 2 types, %d facts, %d wrong" % (len(CASES), facts, wrong))
sys.exit(1 if wrong else 0)
