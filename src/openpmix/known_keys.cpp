// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/known_keys.h"

#include <algorithm>
#include <iterator>

#include "common/base/ids.h"
#include "common/values/attributes.h"

namespace pmix::openpmix {
namespace {

constexpr std::string_view kPrefix = "pmix.";

// Those of this library's that 4.2 has no name for, in order, behind the prefix: seen with 4.2.2, one by one. Nothing
// to relocate.
constexpr char kSince5[][20] = {
    // clang-format off
    "alloc.begin", "alloc.blk", "alloc.depend", "alloc.dir", "alloc.exclude", "alloc.image", "alloc.inhrt",
    "alloc.lend", "alloc.mau", "alloc.mkind", "alloc.nblks", "alloc.noshell", "alloc.notwait", "alloc.preempt",
    "alloc.property", "alloc.releasable", "alloc.sep", "alloc.seq", "alloc.share", "alloc.status", "alloc.tgt",
    "alloc.waitall", "alloc.wtmo", "allow.clones", "cnct.ctrlr", "cnct.ord", "cnct.sched", "dbg.waiting",
    "dev.dist.origin", "disk.id", "disk.ioms", "disk.ios", "disk.iowght", "disk.rdms", "disk.rdscomp", "disk.rdsct",
    "disk.rdsmrgd", "disk.res", "disk.samptime", "disk.wtms", "disk.wtscomp", "disk.wtsct", "disk.wtsmrgd",
    "dispcpus", "dispparse", "evaux", "evflush", "evlocal", "fabdev.coord", "fwdenv", "gpu.support", "grp.btstrp",
    "grp.finord", "grp.infoarray", "grp.jinfo", "iof.inhrt", "jctrl.ckpttime", "jctrl.defpset", "jctrl.sep",
    "lcl.part", "monitor.dkresuse", "monitor.local", "monitor.ndresuse", "monitor.netresuse", "monitor.presuse",
    "monitor.proxy", "monitor.resrate", "monitor.tgtdks", "monitor.tgtndids", "monitor.tgtnets", "monitor.tgtnode",
    "monitor.tgtpid", "monitor.tgtproc", "mysrvr.alturis", "net.id", "net.rcb", "net.rcerr", "net.rcp", "net.res",
    "net.samptime", "net.sntb", "net.snterr", "net.sntp", "node.la", "node.la15", "node.la5", "node.mbuf",
    "node.mcache", "node.mfree", "node.mmap", "node.mswpc", "node.mswpfree", "node.mswpt", "node.mtot", "node.res",
    "node.samptime", "ntopo", "proc.cpu", "proc.nthr", "proc.osstate", "proc.pcpu", "proc.pkvsize", "proc.pri",
    "proc.pss", "proc.res", "proc.rss", "proc.samptime", "proc.time", "proc.vsize", "pthrdnm", "pty.termio",
    "pty.wsize", "qry.aslots", "qry.dev", "qry.minau", "qry.node", "qry.nres", "qry.peers", "qry.pres",
    "qry.resblks", "qry.resdef", "qry.supqual", "query.allc", "query.alloc.ids", "query.alloc.prop", "repphys.cpus",
    "requestor", "resblkname", "rgid", "ruid", "spawn.pty", "spchildsep", "spwn.actv", "spwn.alloc", "spwn.root",
    "spwn.tgt", "srv.ctrlr", "srvr.alturis", "srvr.ftools", "ssn.app", "ssn.complete", "ssn.inst", "ssn.job",
    "ssn.pause", "ssn.preempt", "ssn.pvn", "ssn.pvnimg", "ssn.pvnnds", "ssn.res", "ssn.restore", "ssn.resume",
    "ssn.sep", "ssn.sig", "ssn.terminate", "ssn.xtend", "ssnctrl.id", "topo.index", "vers.num"
    // clang-format on
};
static_assert(std::ranges::is_sorted(kSince5, {}, [](const char* key) { return std::string_view(key); }));

}  // namespace

bool is_known_key(const Traits& traits, std::string_view key) noexcept {
    if (!traits.numbers_keys || !common::is_reserved_key(key)) return true;
    if (common::attribute_by_string(key).name == nullptr || !key.starts_with(kPrefix)) return false;
    return !std::ranges::binary_search(kSince5, key.substr(kPrefix.size()), {},
                                       [](const char* newer) { return std::string_view(newer); });
}

}  // namespace pmix::openpmix
