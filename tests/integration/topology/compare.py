"""Asks two libpmix the same about a number of topologies and compares what they say, line by line.

usage: compare.py FACTS OUR_FOLDER OTHER_FOLDER XML
Exit 77 (skipped) when the other library is not there or is ours.
"""
# rows: H1 H2 H3 H4 H5 H6 H7
import os
import subprocess
import sys

facts, ours, other, xml = sys.argv[1:5]

SYNTHETIC = [
    ("Package:2 NUMANode:1 L3:1 L2:2 L1:1 Core:1 PU:2", ["0", "1", "7", "0-1", "2-5", "0-7", "9", "", "0,4"]),
    ("Package:1 L2:4 Core:2 PU:1", ["0", "3", "0-3", "4-", "7"]),
    ("NUMANode:4 Core:2 PU:1", ["0", "2-3", "0,7", "1-6"]),
    ("Package:2 Group:2 NUMANode:1 Core:3 PU:4", ["0", "5", "12-23", "24-47", "0,13,26"]),
    ("Core:3 PU:1", ["0", "1-2"]),
    ("PU:5", ["0", "0-4", "3"]),
    ("L3:2 Package:2 L1:2 PU:2", ["0", "3", "4-11"]),
    ("Package:8 L3:4 Core:8 PU:2", ["0", "511", "64-127", "0-511", "1,3,5,7,9,511"]),
]


def ask(folder, cpusets, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith("HWLOC_")}
    env.update(environment, LD_LIBRARY_PATH=folder)
    run = subprocess.run([facts] + cpusets, env=env, capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        sys.exit(f"{folder}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    library = next(line for line in run.stderr.splitlines() if line.startswith("library "))
    return library, run.stdout.splitlines()


def compare(cpusets, **environment):
    our_library, our_lines = ask(ours, cpusets, **environment)
    other_library, other_lines = ask(other, cpusets, **environment)
    if "Wireup" not in our_library:
        sys.exit(f"not ours: {our_library}")
    if "Wireup" in other_library:
        print("the other library is ours")
        sys.exit(77)
    if "HWLOC_XMLFILE" in environment:  # XML does not say which hwloc reads it
        our_lines[0], other_lines[0] = (l[0].split(":")[0] for l in (our_lines, other_lines))
    wrong = 0
    for i in range(max(len(our_lines), len(other_lines))):
        a = our_lines[i] if i < len(our_lines) else "(nothing)"
        b = other_lines[i] if i < len(other_lines) else "(nothing)"
        if a != b:
            print(f"{environment}\n  ours  {a}\n  other {b}")
            wrong += 1
    return len(our_lines), wrong


if not os.path.exists(os.path.join(other, "libpmix.so.2")):
    print(f"no libpmix.so.2 in {other}")
    sys.exit(77)
runs = [compare(cpusets, HWLOC_SYNTHETIC=text) for text, cpusets in SYNTHETIC]
runs.append(compare(["0", "1", "2", "5", "7", "0-3", "2,6", "0-7"], HWLOC_XMLFILE=xml))
runs.append(compare(["0"]))
lines, wrong = map(sum, zip(*runs))
print(f"{len(runs)} topologies, {lines} facts, {wrong} differ")
sys.exit(1 if wrong else 0)
