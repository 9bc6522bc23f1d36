#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our headers as a program of another release sees its own: only that release's names, its version numbers, its server
module, its functions where it had no macros and its macros where it had no functions.

usage: header_view.py 5.0.10|6.1.0 --include DIRECTORY --out DIRECTORY

Writes the six headers and view.h, to be included before all else (-include): it includes them, takes away the names that
the release does not have (tests/abi/reference), so that a program which uses one does not compile, and defines what the
release had otherwise. No value, string or layout but the module's differs (tests abi/probe.*), so the rest is ours as it is."""
import argparse
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = ["pmix.h", "pmix_common.h", "pmix_deprecated.h", "pmix_server.h", "pmix_tool.h", "pmix_version.h"]

# Entries of the server module behind client_connected2, and its size.
MODULE = {"5.0.10": (["session_control"], 232),
          "6.1.0": (["tool_connected2", "log2", "session_control", "resource_block"], 256)}

# What was made otherwise, from the tables: which functions a use of the macro imports.
OTHERWISE = {
    "5.0.10": """
#undef PMIX_PDATA_LOAD
#define PMIX_PDATA_LOAD(to, from, name, what, kind) \\
    (memset((to), 0, sizeof(pmix_pdata_t)), PMIx_Load_nspace((to)->proc.nspace, (from)->nspace), \\
     (to)->proc.rank = (from)->rank, PMIx_Load_key((to)->key, (name)), (void)PMIx_Value_load(&(to)->value, (what), (kind)))
#undef PMIX_PDATA_XFER
#define PMIX_PDATA_XFER(to, from) \\
    (memset((to), 0, sizeof(pmix_pdata_t)), PMIx_Load_nspace((to)->proc.nspace, (from)->proc.nspace), \\
     (to)->proc.rank = (from)->proc.rank, PMIx_Load_key((to)->key, (from)->key), \\
     (void)PMIx_Value_xfer(&(to)->value, &(from)->value))
#define PMIx_Heartbeat() \\
    do { \\
        pmix_info_t view_beat; \\
        PMIx_Info_construct(&view_beat); \\
        PMIx_Info_load(&view_beat, PMIX_SEND_HEARTBEAT, NULL, PMIX_POINTER); \\
        PMIx_Process_monitor_nb(&view_beat, PMIX_SUCCESS, NULL, 0, NULL, NULL); \\
        PMIx_Info_destruct(&view_beat); \\
    } while (0)
""",
    "6.1.0": "",
}


def reference(version):
    with open(os.path.join(HERE, "reference", "probe-%s.txt" % version)) as f:
        return dict(line.rstrip("\n").split(" ", 1) for line in f if " " in line)


def write(path, text):
    if os.path.exists(path) and open(path).read() == text:
        return  # nothing is compiled anew for nothing
    with open(path, "w") as f:
        f.write(text)


def server_header(text, version):
    """The module of that release, and the function alone."""
    keep, size = MODULE[version]
    start = text.index("typedef struct pmix_server_module_4_0_0_t {")
    end = text.index("} pmix_server_module_t;")
    lines = text[start:end].split("\n")
    at = next(i for i, line in enumerate(lines) if " client_connected2;" in line) + 1
    tail = [line for line in lines[at:] if any(line.endswith(" %s;" % name) for name in keep)]
    assert [re.search(r"(\w+);$", line).group(1) for line in tail] == keep
    check = "\n/* %d bytes */\ntypedef char view_module_size[sizeof(pmix_server_module_t) == %d ? 1 : -1];" % (size, size)
    text = text[:start] + "\n".join(lines[:at] + tail) + "\n" + text[end:].replace(";", ";" + check, 1)
    return "#ifndef PMIX_SERVER_INIT_PLAIN\n#    define PMIX_SERVER_INIT_PLAIN\n#endif\n" + text


def view(version):
    facts = reference(version)
    text = "#ifndef WIREUP_HEADER_VIEW\n#define WIREUP_HEADER_VIEW\n"
    text += "".join("#include <%s>\n" % name for name in ("string.h", "pmix.h", "pmix_server.h", "pmix_tool.h"))
    poison = set()
    for name in sorted(facts):
        absent = facts[name] in ("absent", "no")
        if name.startswith("prototype:") and facts[name] in ("absent", "macro"):
            if facts[name] == "absent":
                poison.add(name.split(":")[1])
        elif name.startswith("sizeof:") and "." not in name and absent:
            poison.add(name.split(":")[1])
        elif name.startswith("macro:") and absent:
            text += "#undef %s\n" % name.split(":")[1]
        elif re.match(r"PMIX_\w+$", name) and absent:
            text += "#undef %s\n" % name
        elif re.match(r"PMIX_(NUMERIC_VERSION|VERSION_(MAJOR|MINOR|RELEASE)|CAP_BASE|CAPABILITIES)$", name):
            text += "#undef %s\n#define %s %s\n" % (name, name, facts[name])
    text += OTHERWISE[version]
    text += "".join("#undef %s\n#pragma GCC poison %s\n" % (name, name) for name in sorted(poison))
    return text + "#endif\n", poison


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("version", choices=sorted(MODULE))
    parser.add_argument("--include", required=True)
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    os.makedirs(asked.out, exist_ok=True)
    for name in HEADERS:
        with open(os.path.join(asked.include, name)) as f:
            text = f.read()
        write(os.path.join(asked.out, name), server_header(text, asked.version) if name == "pmix_server.h" else text)
    text, poison = view(asked.version)
    assert "pmix_value_t" not in poison
    write(os.path.join(asked.out, "view.h"), text)


if __name__ == "__main__":
    main()
