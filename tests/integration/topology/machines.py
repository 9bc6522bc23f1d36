"""Machines that nobody has, as hwloc's XML (version 2): packages, dies, NUMA nodes, caches, cores, and devices at any level.

machine(levels, devices): levels are (kind, number in each of the level above), outermost first; kinds are Package, Die, Group,
L3, L2, L1, Core, PU, and NUMA, which hangs memory below the level before it. devices(kind, index) yields (device, name, facts)
for what hangs below the index-th object of that kind; "Machine" is a kind too.
"""

OS_DEVICES = {"block": 0, "gpu": 1, "network": 2, "openfabrics": 3, "dma": 4, "coprocessor": 5}
PCI_CLASS = {"block": "0108", "gpu": "0302", "network": "0200", "openfabrics": "0207", "dma": "0880", "coprocessor": "0b40"}


def bitmap(first, count):
    value = ((1 << count) - 1) << first
    words = []
    while True:
        words.append("0x%08x" % (value & 0xFFFFFFFF))
        value >>= 32
        if value == 0:
            return ",".join(reversed(words))


class Writer:
    def __init__(self, levels, devices):
        self.levels, self.devices = levels, devices
        self.serial, self.buses = 1, 0
        self.indices = {}
        self.lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">', '<topology version="2.0">']
        self.threads = self.memories = 1
        for kind, n in levels:
            if kind != "NUMA":
                self.threads *= n
        before = 1
        for kind, n in levels:
            if kind == "NUMA":
                self.memories = before
            else:
                before *= n

    def next(self, what):
        self.indices[what] = self.indices.get(what, -1) + 1
        return self.indices[what]

    def sets(self, first, count):
        share = self.threads // self.memories
        nodes = bitmap(first // share, max(1, count // share))
        self.serial += 1
        return 'cpuset="%s" complete_cpuset="%s" nodeset="%s" complete_nodeset="%s" gp_index="%d"' % (
            bitmap(first, count), bitmap(first, count), nodes, nodes, self.serial)

    def hang(self, kind, index):
        found = list(self.devices(kind, index))
        if not found:
            return
        self.buses += 1
        self.serial += 1
        self.lines.append('<object type="Bridge" gp_index="%d" bridge_type="0-1" depth="0" bridge_pci="0000:[%02x-%02x]">'
                          % (self.serial, self.buses, self.buses))
        for slot, (device, name, facts) in enumerate(found):
            self.serial += 2
            self.lines.append('<object type="PCIDev" gp_index="%d" pci_busid="0000:%02x:%02x.0" '
                              'pci_type="%s [15b3:1017] [15b3:0016] 00" pci_link_speed="0.000000">'
                              % (self.serial - 1, self.buses, slot, PCI_CLASS[device]))
            self.lines.append('<object type="OSDev" gp_index="%d" name="%s" osdev_type="%d">'
                              % (self.serial, name, OS_DEVICES[device]))
            for key, value in facts.items():
                self.lines.append('<info name="%s" value="%s"/>' % (key, value))
            self.lines += ["</object>", "</object>"]
        self.lines.append("</object>")

    def memory(self, first, count):
        self.lines.append('<object type="NUMANode" os_index="%d" %s local_memory="1073741824">'
                          '<page_type size="4096" count="262144"/></object>' % (self.next("NUMA"), self.sets(first, count)))

    def below(self, level, first, count):
        while level < len(self.levels) and self.levels[level][0] == "NUMA":
            self.memory(first, count)
            level += 1
        if level == len(self.levels):
            return
        kind, n = self.levels[level]
        for i in range(n):
            share = count // n
            at, index = first + i * share, self.next(kind)
            if kind in ("L1", "L2", "L3"):
                self.lines.append('<object type="%sCache" %s cache_size="%d" depth="%s" cache_linesize="64" '
                                  'cache_associativity="0" cache_type="%d">'
                                  % (kind, self.sets(at, share), 32768 << 4 * int(kind[1]), kind[1], kind == "L1"))
            elif kind == "Group":
                self.lines.append('<object type="Group" %s kind="0" subkind="0">' % self.sets(at, share))
            else:
                self.lines.append('<object type="%s" os_index="%d" %s>' % (kind, index, self.sets(at, share)))
            self.below(level + 1, at, share)
            self.hang(kind, index)
            self.lines.append("</object>")

    def text(self):
        whole = self.sets(0, self.threads)
        self.lines.append('<object type="Machine" os_index="0" %s allowed_cpuset="%s" allowed_nodeset="%s">' % (
            whole, bitmap(0, self.threads), bitmap(0, self.memories)))
        if not any(kind == "NUMA" for kind, _ in self.levels):
            self.memory(0, self.threads)
        self.below(0, 0, self.threads)
        self.hang("Machine", 0)
        self.lines += ["</object>", "</topology>", ""]
        return "\n".join(self.lines)


def machine(levels, devices):
    writer = Writer(levels, devices)
    return writer.text(), writer.threads


def address(kind, index):
    return "02:00:00:00:%02x:%02x" % (sum(map(ord, kind)) & 0xFF, index)


def of_all_kinds(kind, index):
    """A device of each kind at each package and memory's place, a network card at the machine."""
    if kind == "Machine":
        yield "network", "eth9", {"Address": address(kind, index)}
        yield "block", "sda", {"Size": "1000"}
    elif kind in ("Package", "Die", "Group"):
        letter = kind[0].lower()
        yield "network", "e%s%d" % (letter, index), {"Address": address(kind, index)}
        yield "network", "ib%s%d" % (letter, index), {
            "Address": "80:00:00:28:fe:fe:fe:fe:fe:fe:fe:fe:" + address(kind, index) + ":71:82"}
        guid = "e41d:2d03:%04x:%04x" % (sum(map(ord, kind)), index)
        yield "openfabrics", "mlx%s_%d" % (letter, index), {"NodeGUID": guid, "SysImageGUID": guid}
        yield "gpu", "render%s%d" % (letter.upper(), 128 + index), {}


def at_the_machine(kind, index):
    if kind == "Machine":
        yield from of_all_kinds("Package", 7)


def none(kind, index):
    return iter(())


MACHINES = [
    ("4 packages, 2 memories each",
     [("Package", 4), ("Group", 2), ("NUMA", 1), ("L3", 1), ("L2", 4), ("L1", 1), ("Core", 1), ("PU", 2)], of_all_kinds),
    ("2 packages of dies",
     [("Package", 2), ("Die", 2), ("L3", 2), ("NUMA", 1), ("L2", 2), ("Core", 2), ("PU", 1)], of_all_kinds),
    ("1 package, devices at the machine", [("Package", 1), ("NUMA", 1), ("L2", 2), ("Core", 2), ("PU", 2)], at_the_machine),
    ("cores alone", [("Core", 3), ("PU", 2)], at_the_machine),
    ("no devices", [("Package", 2), ("NUMA", 1), ("Core", 2), ("PU", 1)], none),
    ("8 packages", [("Package", 8), ("NUMA", 1), ("L3", 2), ("Core", 4), ("PU", 2)], of_all_kinds),
]


def one_without_an_address(kind, index):
    if kind == "Machine":
        yield "network", "eth0", {"Address": address(kind, index)}
        yield "network", "virtual0", {}


WITHOUT_AN_ADDRESS = ([("Package", 1), ("NUMA", 1), ("Core", 2), ("PU", 1)], one_without_an_address)
