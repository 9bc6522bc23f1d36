// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/host.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <typeinfo>

#include "simulation/descriptors.h"
#include "simulation/mappings.h"
#include "simulation/memory.h"

namespace pmix::simulation {

namespace {

ResourceManager* g_manager = nullptr;

Node& this_node() {
    return *static_cast<Node*>(t_self->process->user);
}

// The library keeps to what a host may rely on.
void expect(const char* upcall, bool kept, const char* what) {
    if (kept || refused_allocations() != 0) return;  // what there was no memory for is left out
    std::printf("WRONG the %s upcall %s\n", upcall, what);
    std::fflush(stdout);
    _exit(1);
}

const pmix_info_t* info_of(const pmix_info_t infos[], size_t n, const char* key) {
    for (size_t i = 0; i < n; ++i)
        if (std::strcmp(infos[i].key, key) == 0) return &infos[i];
    return nullptr;
}
bool is_true(const pmix_info_t* info) {
    return info != nullptr && info->value.type == PMIX_BOOL && info->value.data.flag;
}

void expect_user(const char* upcall, const pmix_info_t infos[], size_t n) {
    const pmix_info_t *user = info_of(infos, n, PMIX_USERID), *group = info_of(infos, n, PMIX_GRPID);
    expect(upcall, user != nullptr && user->value.type == PMIX_UINT32 && user->value.data.uint32 == geteuid(),
           "does not name the user");
    expect(upcall, group != nullptr && group->value.type == PMIX_UINT32 && group->value.data.uint32 == getegid(),
           "does not name the user's group");
}

void expect_proc(const char* upcall, const pmix_proc_t* proc) {
    expect(upcall,
           std::strcmp(proc->nspace, kJob) == 0 &&
               (proc->rank == PMIX_RANK_WILDCARD ||
                proc->rank < static_cast<uint32_t>(ResourceManager::get().size.ranks())),
           "names a process that is none");
}

Directives expect_operation(const char* upcall, const pmix_proc_t procs[], size_t n, const pmix_info_t infos[],
                            size_t ninfos) {
    const auto& rm = ResourceManager::get();
    expect(upcall, n > 0, "has no members");
    for (size_t i = 0; i < n; ++i) expect_proc(upcall, &procs[i]);
    bool has_own = false;
    for (int r : rm.members_of(procs, n)) has_own |= rm.node_of(r) == this_node().index;
    expect(upcall, has_own, "has no member of its node");
    expect_user(upcall, infos, ninfos);
    const pmix_info_t* status = info_of(infos, ninfos, PMIX_LOCAL_COLLECTIVE_STATUS);
    expect(upcall, status != nullptr && status->value.type == PMIX_STATUS, "has no status of its node's members");
    expect(upcall, is_true(info_of(infos, ninfos, PMIX_SORTED_PROC_ARRAY)), "does not say that its members are sorted");
    for (size_t i = 1; i < n; ++i) expect(upcall, procs[i - 1].rank < procs[i].rank, "has members that are not sorted");
    const pmix_info_t* limit = info_of(infos, ninfos, PMIX_TIMEOUT);
    return {limit == nullptr ? 0 : limit->value.data.integer * 1000, is_true(info_of(infos, ninfos, PMIX_COLLECT_DATA)),
            is_true(info_of(infos, ninfos, PMIX_GROUP_ASSIGN_CONTEXT_ID))};
}

bool spans_nodes(const pmix_proc_t procs[], size_t n) {
    const auto& rm = ResourceManager::get();
    bool spans = false;
    for (int r : rm.members_of(procs, n)) spans |= rm.node_of(r) != this_node().index;
    return spans;
}

// For upcalls that have nothing but a status to answer.
pmix_status_t status_later(pmix_op_cbfunc_t cb, void* of, pmix_status_t status = PMIX_SUCCESS) {
    if (cb == nullptr || (status == PMIX_SUCCESS && dice().one_in(2)))
        return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
    ResourceManager::get().post(this_node(), [cb, of, status] { cb(status, of); });
    return PMIX_SUCCESS;
}

pmix_status_t client_connected(const pmix_proc_t*, void*, pmix_info_t[], size_t, pmix_op_cbfunc_t cb, void* of) {
    return status_later(cb, of);
}
pmix_status_t client_finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t cb, void* of) {
    return status_later(cb, of);
}
pmix_status_t aborted(const pmix_proc_t*, void*, int, const char[], pmix_proc_t[], size_t, pmix_op_cbfunc_t cb,
                      void* of) {
    return status_later(cb, of);
}

pmix_status_t local_status(const pmix_info_t infos[], size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (std::strcmp(infos[i].key, PMIX_LOCAL_COLLECTIVE_STATUS) == 0) return infos[i].value.data.status;
    return PMIX_SUCCESS;
}

pmix_status_t fence(const pmix_proc_t procs[], size_t n, const pmix_info_t infos[], size_t ninfos, char* data,
                    size_t ndata, pmix_modex_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    const Directives asked = expect_operation("fence", procs, n, infos, ninfos);
    expect("fence", spans_nodes(procs, n), "has no members on other nodes");
    expect("fence", ndata > 0, "has no data");
    expect("fence", asked.collects || ndata < 64, "has data that nobody has asked for");
    expect("fence", info_of(infos, ninfos, PMIX_COLLECT_DATA) != nullptr, "does not say whether there are data");
    ResourceManager::Part part{&this_node(),
                               local_status(infos, ninfos),
                               asked,
                               {data, data + ndata},
                               [cb, of](pmix_status_t status, const std::vector<char>& all, uint32_t) {
                                   auto* kept = new std::vector<char>(all);
                                   cb(
                                       status, kept->data(), kept->size(), of,
                                       [](void* p) { delete static_cast<std::vector<char>*>(p); }, kept);
                               }};
    std::free(data);
    return rm.take_part("fence", rm.members_of(procs, n), std::move(part));
}

pmix_status_t join_operation(const char* kind, const pmix_proc_t procs[], size_t n, const pmix_info_t infos[],
                             size_t ninfos, pmix_op_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    const Directives asked = expect_operation(kind, procs, n, infos, ninfos);
    return rm.take_part(kind, rm.members_of(procs, n),
                        {&this_node(),
                         local_status(infos, ninfos),
                         asked,
                         {},
                         [cb, of](pmix_status_t status, const std::vector<char>&, uint32_t) { cb(status, of); }});
}
pmix_status_t connect(const pmix_proc_t procs[], size_t n, const pmix_info_t infos[], size_t ninfos,
                      pmix_op_cbfunc_t cb, void* of) {
    return join_operation("connect", procs, n, infos, ninfos, cb, of);
}
pmix_status_t disconnect(const pmix_proc_t procs[], size_t n, const pmix_info_t infos[], size_t ninfos,
                         pmix_op_cbfunc_t cb, void* of) {
    return join_operation("disconnect", procs, n, infos, ninfos, cb, of);
}

pmix_status_t group(pmix_group_operation_t op, char* name, const pmix_proc_t procs[], size_t n,
                    const pmix_info_t infos[], size_t ninfos, pmix_info_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    const char* kind = op == PMIX_GROUP_CONSTRUCT ? "construct" : "destruct";
    const Directives asked = expect_operation(kind, procs, n, infos, ninfos);
    std::vector<char> data;
    if (const pmix_info_t* endpoint = info_of(infos, ninfos, PMIX_GROUP_ENDPT_DATA)) {
        expect(kind, endpoint->value.type == PMIX_BYTE_OBJECT, "has endpoint data of another type");
        data.assign(endpoint->value.data.bo.bytes, endpoint->value.data.bo.bytes + endpoint->value.data.bo.size);
    }
    const auto answer = [cb, of, pmix = this_node().pmix](pmix_status_t status, const std::vector<char>& all,
                                                          uint32_t number) {
        auto* results = new std::vector<pmix_info_t>;
        if (number != 0 && (status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS)) {
            const size_t id = number;
            pmix->Info_load(&results->emplace_back(), PMIX_GROUP_CONTEXT_ID, &id, PMIX_SIZE);
        }
        if (!all.empty()) {
            const pmix_byte_object_t object{const_cast<char*>(all.data()), all.size()};
            pmix->Info_load(&results->emplace_back(), PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
        }
        struct Kept {
            const Library* pmix;
            std::vector<pmix_info_t>* results;
        };
        cb(
            status, results->data(), results->size(), of,
            [](void* p) {
                const auto* kept = static_cast<Kept*>(p);
                for (pmix_info_t& i : *kept->results) kept->pmix->Info_destruct(&i);
                delete kept->results;
                delete kept;
            },
            new Kept{pmix, results});
    };
    return rm.take_part(std::string(kind) + ' ' + name, rm.members_of(procs, n),
                        {&this_node(), local_status(infos, ninfos), asked, std::move(data), answer});
}

pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t infos[], size_t n, pmix_modex_cbfunc_t cb,
                           void* of) {
    auto& rm = ResourceManager::get();
    expect_user("direct modex", infos, n);
    const pmix_info_t* key = info_of(infos, n, PMIX_REQUIRED_KEY);
    expect("direct modex", key != nullptr && key->value.type == PMIX_STRING && key->value.data.string[0] == 'k',
           "names no key");
    expect_proc("direct modex", proc);
    expect("direct modex", rm.node_of(static_cast<int>(proc->rank)) != this_node().index,
           "asks for data of its own node");
    rm.modexes.push_back(
        {this_node().index, static_cast<int>(proc->rank), std::atoi(key->value.data.string + 1), ++*rm.positions});
    if (rm.fails()) {
        rm.failed_modex.insert({this_node().index, static_cast<int>(proc->rank)});
        if (dice().one_in(2)) return kHostFailure;
        rm.post(this_node(), [cb, of] { cb(kHostFailure, nullptr, 0, of, nullptr, nullptr); });
        return PMIX_SUCCESS;
    }
    Node& target = *rm.nodes[static_cast<size_t>(rm.node_of(static_cast<int>(proc->rank)))];
    if (target.lost) return PMIX_ERR_NOT_FOUND;
    struct Request {
        Node* from;
        pmix_modex_cbfunc_t cb;
        void* of;
    };
    auto* request = new Request{&this_node(), cb, of};
    const pmix_proc_t wanted = *proc;
    rm.post(target, [&target, wanted, request] {
        const auto answer = [](pmix_status_t status, char* data, size_t bytes, void* p) {
            auto* r = static_cast<Request*>(p);
            auto* copy = new std::vector<char>(data, data + bytes);
            ResourceManager::get().post(*r->from, [r, status, copy] {
                r->cb(
                    status, copy->data(), copy->size(), r->of,
                    [](void* q) { delete static_cast<std::vector<char>*>(q); }, copy);
                delete r;
            });
        };
        const pmix_status_t rc = target.pmix->server_dmodex_request(&wanted, answer, request);
        if (rc != PMIX_SUCCESS) answer(rc, nullptr, 0, request);
    });
    return PMIX_SUCCESS;
}

pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t n, pmix_op_cbfunc_t cb, void* of) {
    auto& all = ResourceManager::get().published;
    expect_proc("publish", proc);
    expect_user("publish", infos, n);
    for (size_t i = 0; i < n; ++i) {
        if (infos[i].key[0] != 'p' || std::strchr(infos[i].key, '.') != nullptr) continue;
        if (all.count(infos[i].key) != 0) return status_later(cb, of, PMIX_ERR_DUPLICATE_KEY);
        pmix_info_t copy;
        this_node().pmix->Info_xfer(&copy, &infos[i]);
        all[infos[i].key] = {this_node().pmix, copy.value};
    }
    return status_later(cb, of);
}

pmix_status_t lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t infos[], size_t n, pmix_lookup_cbfunc_t cb,
                     void* of) {
    expect_proc("lookup", proc);
    expect_user("lookup", infos, n);
    expect("lookup", keys != nullptr && keys[0] != nullptr && keys[1] == nullptr, "has not the one key");
    ResourceManager::get().post(this_node(), [cb, of, key = std::string(keys[0])] {
        const auto& all = ResourceManager::get().published;
        const auto found = all.find(key);
        if (found == all.end()) return cb(PMIX_ERR_NOT_FOUND, nullptr, 0, of);
        pmix_pdata_t data{};
        std::strcpy(data.key, key.c_str());
        std::strcpy(data.proc.nspace, kJob);
        data.value = found->second.value;
        cb(PMIX_SUCCESS, &data, 1, of);
    });
    return PMIX_SUCCESS;
}

// All other nodes are told; they deliver it to their processes.
pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, pmix_info_t infos[],
                     size_t n, pmix_op_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    const Node& from = this_node();
    expect_proc("event", source);
    expect("event", range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL, "has an event that stays on its node");
    for (const auto& node : rm.nodes) {
        if (node.get() == &from || node->lost) continue;
        auto* copies = new std::vector<pmix_info_t>(n);
        for (size_t i = 0; i < n; ++i) from.pmix->Info_xfer(&(*copies)[i], &infos[i]);
        const pmix_proc_t proc = *source;
        rm.post_in_order(*node, from, [to = node.get(), code, proc, range, copies] {
            to->pmix->Notify_event(code, &proc, range, copies->data(), copies->size(), nullptr, nullptr);
            for (pmix_info_t& i : *copies) to->pmix->Info_destruct(&i);
            delete copies;
        });
    }
    return status_later(cb, of);
}

pmix_status_t unpublish(const pmix_proc_t*, char** keys, const pmix_info_t[], size_t, pmix_op_cbfunc_t cb, void* of) {
    for (char** k = keys; k != nullptr && *k != nullptr; ++k) ResourceManager::get().published.erase(*k);
    return status_later(cb, of);
}

pmix_server_module_t module(const HostWays& ways) {
    pmix_server_module_t m{};
    m.client_connected2 = client_connected;
    m.client_finalized = client_finalized;
    m.abort = aborted;
    if (ways.has(Lacks::fence)) m.fence_nb = fence;
    if (ways.has(Lacks::modex)) m.direct_modex = direct_modex;
    if (ways.has(Lacks::publish)) m.publish = publish;
    m.lookup = lookup;
    m.unpublish = unpublish;
    if (ways.has(Lacks::notify)) m.notify_event = notify;
    if (ways.has(Lacks::connect)) m.connect = connect;
    m.disconnect = disconnect;
    if (ways.has(Lacks::group)) m.group = group;
    return m;
}

// Waits for the callback of a call without a blocking form.
template <class F>
pmix_status_t finish(F&& call) {
    struct Done {
        bool done = false;
        pmix_status_t status = PMIX_SUCCESS;
    };
    auto* d = new Done;
    pmix_status_t rc =
        call([](pmix_status_t status,
                void* of) { static_cast<Done*>(of)->status = status, static_cast<Done*>(of)->done = true; },
             d);
    if (rc == PMIX_OPERATION_SUCCEEDED)
        rc = PMIX_SUCCESS;
    else if (rc == PMIX_SUCCESS) {
        wait_until([d] { return d->done; }, kNever, "a server's callback");
        rc = d->status;
    }
    delete d;
    return rc;
}

void must(const char* what, pmix_status_t status) {
    if (status == PMIX_SUCCESS || refused_allocations() != 0) return;
    std::printf("WRONG the host's %s: %d\n", what, status);
    std::fflush(stdout);
    _exit(1);
}

void wrong(const Node& node, const std::string& what) {
    std::printf("WRONG the server of node%d %s\n", node.index, what.c_str());
    std::fflush(stdout);
    _exit(1);
}

// The array of infos with which the server answers a question about itself; the caller frees the results.
const pmix_data_array_t* ask(const Library& pmix, const char* what, pmix_info_t** results, size_t* n) {
    pmix_query_t query{};
    std::string key = what;
    char* keys[] = {key.data(), nullptr};
    query.keys = keys;
    must("PMIx_Query_info", pmix.Query_info(&query, 1, results, n));
    return *n == 1 && (*results)->value.type == PMIX_DATA_ARRAY ? (*results)->value.data.darray : nullptr;
}

// Nothing waits in a server whose processes have all ended.
void nothing_waits(const Node& node) {
    pmix_info_t* results = nullptr;
    size_t n = 0;
    const pmix_data_array_t* rows = ask(*node.pmix, WIREUP_QUERY_REPORT, &results, &n);
    if (rows == nullptr && refused_allocations() != 0) return;
    if (rows == nullptr) return wrong(node, "has no report");
    const auto* infos = static_cast<const pmix_info_t*>(rows->array);
    for (const char* kind : {WIREUP_REPORT_COLLECTIVE, WIREUP_REPORT_REQUEST})
        if (info_of(infos, rows->size, kind) != nullptr) wrong(node, std::string("still has a ") + kind);
    node.pmix->Info_free(results, n);
}

// Nor is memory held for anybody when their job has ended.
void nothing_held(const Node& node) {
    pmix_info_t* results = nullptr;
    size_t n = 0;
    const pmix_data_array_t* rows = ask(*node.pmix, WIREUP_QUERY_COUNTERS, &results, &n);
    const pmix_info_t* held =
        rows == nullptr ? nullptr
                        : info_of(static_cast<const pmix_info_t*>(rows->array), rows->size, WIREUP_COUNTER_HELD);
    if (rows == nullptr && refused_allocations() != 0) return;
    if (held == nullptr || held->value.type != PMIX_DATA_ARRAY) return wrong(node, "does not count what it holds");
    const auto* users = static_cast<const pmix_info_t*>(held->value.data.darray->array);
    for (size_t i = 0; i < held->value.data.darray->size; ++i)
        if (users[i].value.data.uint64 != 0)
            wrong(node, "holds " + std::to_string(users[i].value.data.uint64) + " bytes for a user");
    node.pmix->Info_free(results, n);
}

// A process that has finalized the library has no descriptor, thread or mapping of it.
void nothing_left(const Process& p) {
    const auto descriptors = descriptors_of(p);
    const size_t threads = p.threads.size() - 1, mapped = mapped_by(p);
    if (descriptors.empty() && threads == 0 && mapped == 0) return;
    std::printf("WRONG %s has left %zu descriptors, %zu threads, %zu bytes of memory\n", p.name.c_str(),
                descriptors.size(), threads, mapped);
    for (int fd : descriptors) {
        const ObjectRef object = object_of(fd);
        char file[256] = "";
        if (object == nullptr && readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), file, sizeof file - 1) < 0)
            file[0] = '?';
        std::printf("  %d: %s\n", fd, object == nullptr ? file : typeid(*object).name());
    }
    std::fflush(stdout);
    _exit(1);
}

}  // namespace

ResourceManager& ResourceManager::get() {
    return *g_manager;
}

ResourceManager::ResourceManager(const Size& s, const std::vector<Library>& copies, const HostWays& how)
    : size(s), ways(how), clients(static_cast<size_t>(s.ranks())), copies_(copies) {
    g_manager = this;
    for (int i = 0; i < s.nodes; ++i) {
        nodes.push_back(std::make_unique<Node>());
        nodes.back()->index = i;
        nodes.back()->pmix = &copies_[static_cast<size_t>(i)];
    }
}

void ResourceManager::start(std::function<void(int, const Library&)> client) {
    for (auto& n : nodes) {
        const char* tmp = std::getenv("TMPDIR");
        n->process = &new_process("node" + std::to_string(n->index),
                                  {std::string("TMPDIR=") + (tmp == nullptr ? "/tmp" : tmp), "WIREUP_LOG=off"});
        n->process->user = n.get();
        simulation::start(*n->process, [this, node = n.get(), client] {
            daemon(*node, client);
            nothing_left(*node->process);
            kill(*node->process);
            yield("exit");
        });
    }
}

bool ResourceManager::all_ended() const {
    for (const auto& n : nodes)
        if (n->process->alive) return false;
    for (const Process* c : clients)
        if (c != nullptr && c->alive) return false;
    return true;
}

void ResourceManager::post(Node& node, std::function<void()> run) {
    const Nanoseconds at = now() + dice().below(dice().one_in(20) ? 20 * kMillisecond : 50'000);
    alarm_at(at);
    node.inbox.push_back({at, std::move(run)});
}

void ResourceManager::post_in_order(Node& node, const Node& from, std::function<void()> run) {
    post(node, std::move(run));
    Nanoseconds& last = node.last_from[from.index];
    last = node.inbox.back().at = std::max(node.inbox.back().at, last);
    alarm_at(last);
}

std::vector<int> ResourceManager::members_of(const pmix_proc_t procs[], size_t n) const {
    std::set<int> members;
    for (size_t i = 0; i < n; ++i) {
        if (procs[i].rank != PMIX_RANK_WILDCARD)
            members.insert(static_cast<int>(procs[i].rank));
        else
            for (int r = 0; r < size.ranks(); ++r) members.insert(r);
    }
    return {members.begin(), members.end()};
}

bool ResourceManager::fails() const {
    return ways.fails_in != 0 && dice().one_in(ways.fails_in);
}

pmix_status_t ResourceManager::take_part(const std::string& kind, const std::vector<int>& members, Part part) {
    const std::string name = operation_name(kind, members);
    auto& open = operations_[name];
    size_t mine = 0;
    const auto is_other = [&](const Operation& o) {
        const int limit = o.outcome.asked.milliseconds;
        return (limit != 0 && now() > o.began + limit * kMillisecond) ||
               std::any_of(o.parts.begin(), o.parts.end(), [&](const Part& p) { return p.node == part.node; });
    };
    while (mine < open.size() && is_other(open[mine])) ++mine;
    if (mine == open.size()) open.push_back({members, {}, {}, now()});
    Answered& outcome = open[mine].outcome;
    outcome.asked.milliseconds = std::max(outcome.asked.milliseconds, part.asked.milliseconds);
    outcome.asked.collects |= part.asked.collects;
    outcome.asked.assigns |= part.asked.assigns;
    pmix_status_t rc = PMIX_SUCCESS;
    if (outcome.status == PMIX_SUCCESS && part.asked.milliseconds == 0 && fails() && dice().one_in(2)) {
        outcome.status = rc = kHostFailure;
        part.answer = nullptr;
    }
    open[mine].parts.push_back(std::move(part));
    end_if_complete(name, open, mine);
    return rc;
}

bool ResourceManager::is_alive(int rank) const {
    const Process* p = clients[static_cast<size_t>(rank)];
    return p == nullptr || p->alive;
}

bool ResourceManager::end_if_complete(const std::string& name, std::deque<Operation>& open, size_t i) {
    std::set<Node*> missing;
    for (int r : open[i].members)
        if (is_alive(r)) missing.insert(nodes[static_cast<size_t>(node_of(r))].get());
    Answered& outcome = open[i].outcome;
    for (const Part& p : open[i].parts) {
        missing.erase(p.node);
        if (outcome.status == PMIX_SUCCESS) outcome.status = p.status;
    }
    if (!missing.empty()) return false;
    for (int r : open[i].members)
        if (!is_alive(r) && outcome.status == PMIX_SUCCESS) outcome.status = PMIX_ERR_PARTIAL_SUCCESS;
    if (outcome.status == PMIX_SUCCESS && fails()) outcome.status = kHostFailure;
    if (outcome.asked.assigns) outcome.number = ++last_number_;
    outcome.late = outcome.asked.milliseconds != 0 && ways.late_in != 0 && dice().one_in(ways.late_in);
    const auto done = std::make_shared<Operation>(std::move(open[i]));
    open.erase(open.begin() + static_cast<long>(i));
    const auto data = std::make_shared<std::vector<char>>();
    for (const Part& p : done->parts) data->insert(data->end(), p.data.begin(), p.data.end());
    for (size_t k = 0; k < done->parts.size(); ++k) {
        if (done->parts[k].answer == nullptr) continue;
        Node& node = *done->parts[k].node;
        post(node, [done, data, k] { done->parts[k].answer(done->outcome.status, *data, done->outcome.number); });
        if (!done->outcome.late) continue;
        node.inbox.back().at += (done->outcome.asked.milliseconds + 2000) * kMillisecond;
        alarm_at(node.inbox.back().at);
    }
    answered[name].push_back(done->outcome);
    return true;
}

void ResourceManager::look_again() {
    for (auto& [name, open] : operations_)
        for (size_t i = 0; i < open.size();)
            if (!end_if_complete(name, open, i)) ++i;
}

void ResourceManager::daemon(Node& node, const std::function<void(int, const Library&)>& client) {
    const Library& pmix = *node.pmix;
    pmix_server_module_t callbacks = module(ways);
    std::string hostname = "n" + std::to_string(node.index), names, ranks;
    pmix_info_t own[2];
    pmix.Info_load(&own[0], PMIX_HOSTNAME, hostname.c_str(), PMIX_STRING);
    const size_t module_size = sizeof callbacks;
    pmix.Info_load(&own[1], PMIX_SERVER_MODULE_SIZE, &module_size, PMIX_SIZE);
    must("PMIx_server_init", (*pmix.server_init)(&callbacks, own, 2));
    for (int i = 0; i < size.nodes; ++i) {
        names += (i != 0 ? ",n" : "n") + std::to_string(i);
        for (int k = 0; k < size.ranks_per_node; ++k)
            ranks += (k != 0 ? "," : i != 0 ? ";" : "") + std::to_string(i * size.ranks_per_node + k);
    }
    pmix_info_t job[3];
    pmix.Info_load(&job[0], PMIX_NODE_MAP, names.c_str(), PMIX_STRING);
    pmix.Info_load(&job[1], PMIX_PROC_MAP, ranks.c_str(), PMIX_STRING);
    const uint32_t total = static_cast<uint32_t>(size.ranks());
    pmix.Info_load(&job[2], PMIX_JOB_SIZE, &total, PMIX_UINT32);
    must("PMIx_server_register_nspace", finish([&](pmix_op_cbfunc_t cb, void* of) {
             return pmix.server_register_nspace(kJob, size.ranks_per_node, job, 3, cb, of);
         }));
    std::vector<int> here;
    for (int r = 0; r < size.ranks(); ++r)
        if (node_of(r) == node.index) here.push_back(r);
    for (int r : here) {
        pmix_proc_t proc{};
        std::strcpy(proc.nspace, kJob);
        proc.rank = static_cast<uint32_t>(r);
        must("PMIx_server_register_client", finish([&](pmix_op_cbfunc_t cb, void* of) {
                 return pmix.server_register_client(&proc, geteuid(), getegid(), nullptr, cb, of);
             }));
        char** env = nullptr;
        must("PMIx_server_setup_fork", pmix.server_setup_fork(&proc, &env));
        std::vector<std::string> variables{"TMPDIR=" + std::string(std::getenv("TMPDIR")), "WIREUP_LOG=off"};
        for (char** v = env; v != nullptr && *v != nullptr; ++v) variables.push_back(*v);
        Process& p = new_process("rank" + std::to_string(r), std::move(variables));
        clients[static_cast<size_t>(r)] = &p;
        const Library& copy = copies_[static_cast<size_t>(size.nodes + r)];
        simulation::start(p, [client, r, &copy, &p] {
            client(r, copy);
            nothing_left(p);
            kill(p);
            yield("exit");
        });
    }
    std::set<int> left(here.begin(), here.end());
    for (;;) {
        const auto due = [&node]() -> bool {
            for (const auto& e : node.inbox)
                if (e.at <= now()) return true;
            return false;
        };
        const auto ended = [&] {
            for (int r : left)
                if (!clients[static_cast<size_t>(r)]->alive) return r;
            return -1;
        };
        wait_until([&] { return due() || ended() >= 0 || (left.empty() && all_clients_ended()); }, kNever,
                   "a daemon's inbox");
        if (due()) {
            size_t i = 0;
            while (node.inbox[i].at > now()) ++i;
            auto run = std::move(node.inbox[i].run);
            node.inbox.erase(node.inbox.begin() + static_cast<long>(i));
            run();
            continue;
        }
        if (const int r = ended(); r >= 0) {
            left.erase(r);
            look_again();
            pmix_proc_t proc{};
            std::strcpy(proc.nspace, kJob);
            proc.rank = static_cast<uint32_t>(r);
            pmix.server_deregister_client(&proc, nullptr, nullptr);
            continue;
        }
        if (node.inbox.empty()) break;
        wait_until(due, kNever, "a daemon's inbox");
    }
    nothing_waits(node);
    finish([&](pmix_op_cbfunc_t cb, void* of) {
        pmix.server_deregister_nspace(kJob, cb, of);
        return PMIX_SUCCESS;
    });
    nothing_held(node);
    must("PMIx_server_finalize", pmix.server_finalize());
    node.deregistered = true;
}

bool ResourceManager::all_clients_ended() const {
    for (const Process* c : clients)
        if (c == nullptr || c->alive) return false;
    return true;
}

}  // namespace pmix::simulation
