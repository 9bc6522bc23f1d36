"""Asks two libpmix the same about a number of topologies and compares what they say, line by line.

usage: compare.py FACTS OUR_FOLDER OTHER_FOLDER XML
Exit 77 (skipped) when the other library is not there or is ours.
"""
# rows: H1 H2 H3 H4 H5 H6 H7
import os
import subprocess
import sys
import tempfile

import machines

facts, ours, other, xml = sys.argv[1:5]
# 4.2.2 leaves folders in $TMPDIR while it runs; tests beside this one take what appears in the machine's for their own.
work = tempfile.TemporaryDirectory(prefix="topology.")
os.environ["TMPDIR"] = tempfile.tempdir = work.name

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
    run = subprocess.run([facts] + cpusets, env=env, capture_output=True, text=True, timeout=380)
    if run.returncode != 0:
        sys.exit(f"{folder}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    library = next(line for line in run.stderr.splitlines() if line.startswith("library "))
    return library, run.stdout.splitlines()


def cpus_in(text):
    """The CPUs of "0-3,8"; none for ranges without an end."""
    found = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if part.endswith("-"):
            return []
        found += range(int(first), int(last or first) + 1)
    return found


def take_distances(lines):
    """The facts without those on distances, and these: cpuset to lines "uuid name kind nearest farthest"."""
    rest, distances, at = [], {}, None
    for line in lines:
        if line.startswith("distances "):
            at = line.split()[1].rstrip(":")
            distances[at] = []
        elif line.startswith("  "):
            distances[at].append(line.split())
        else:
            rest.append(line)
    return rest, distances


def spans(cpus, of_one):
    """What is to be said of several CPUs: of each device, the nearest and the farthest that it is from one of them."""
    said = [of_one[str(cpu)] for cpu in cpus if str(cpu) in of_one]
    return [first[:3] + [str(min(int(s[i][3]) for s in said)), str(max(int(s[i][4]) for s in said))]
            for i, first in enumerate(said[0])] if said else []


def compare(cpusets, **environment):
    """Both libraries report the same of cpusets, locality, and of the distances from one CPU. From several, 4.2.2 measures from
    the object that encloses them all, so that what is far from each CPU of a package seems nearer from the package, and what
    no object encloses has no distances at all; ours are held against 4.2.2's distances from the CPUs one by one."""
    singles = sorted({cpu for text in cpusets for cpu in cpus_in(text)} - {int(t) for t in cpusets if t.isdigit()})
    asked = cpusets + [str(cpu) for cpu in singles]
    our_library, our_lines = ask(ours, asked, **environment)
    other_library, other_lines = ask(other, asked, **environment)
    if "Wireup" not in our_library:
        sys.exit(f"not ours: {our_library}")
    if "Wireup" in other_library:
        print("the other library is ours")
        sys.exit(77)
    if "HWLOC_XMLFILE" in environment:  # XML does not say which hwloc reads it
        our_lines[0], other_lines[0] = (l[0].split(":")[0] for l in (our_lines, other_lines))
    facts = len(our_lines)
    our_lines, our_distances = take_distances(our_lines)
    other_lines, other_distances = take_distances(other_lines)
    pairs = []
    for i in range(max(len(our_lines), len(other_lines))):
        pairs.append((our_lines[i] if i < len(our_lines) else "(nothing)",
                      other_lines[i] if i < len(other_lines) else "(nothing)"))
    for text, found in our_distances.items():
        cpus = cpus_in(text)
        if len(cpus) == 1:
            pairs.append((f"{text}: {found}", f"{text}: {other_distances.get(text)}"))
        elif cpus and all(str(cpu) in other_distances for cpu in cpus):
            pairs.append((f"{text}: {found}", f"{text}: {spans(cpus, other_distances)}"))
    wrong = 0
    for a, b in pairs:
        if a != b:
            print(f"{environment}\n  ours  {a}\n  other {b}")
            wrong += 1
    return facts, wrong


def compare_machine(text, threads):
    half, last = threads // 2, threads - 1
    cpusets = ["0", str(half), str(last), "0-1", f"0-{half - 1}", f"{half}-{last}", f"0-{last}", f"1,{last}", f"{half - 1}-{half}",
               ""]
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text)
        file.flush()
        return compare(list(dict.fromkeys(cpusets)), HWLOC_XMLFILE=file.name)


if not os.path.exists(os.path.join(other, "libpmix.so.2")):
    print(f"no libpmix.so.2 in {other}")
    sys.exit(77)
runs = [compare(cpusets, HWLOC_SYNTHETIC=text) for text, cpusets in SYNTHETIC]
runs.append(compare(["0", "1", "2", "5", "7", "0-3", "2,6", "0-7"], HWLOC_XMLFILE=xml))
runs += [compare_machine(*machines.machine(levels, devices)) for _, levels, devices in machines.MACHINES]
runs.append(compare(["0"]))

# 4.2.2 finds no distance at all where one network device has no address, and none for block devices and coprocessors; ours
# names such a device by its host.
text, _ = machines.machine(*machines.WITHOUT_AN_ADDRESS)
with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
    file.write(text)
    file.flush()
    said = [take_distances(ask(folder, ["0"], HWLOC_XMLFILE=file.name)[1])[1]["0"] for folder in (ours, other)]
names = [line[1] for line in said[0]]
if names != ["eth0", "virtual0"] or not said[0][1][0].startswith("net://") or said[1] != []:
    sys.exit(f"a device without an address: {said}")
lines, wrong = map(sum, zip(*runs))
print(f"{len(runs)} topologies, {lines} facts, {wrong} differ")
sys.exit(1 if wrong else 0)
