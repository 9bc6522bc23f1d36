// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/host.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "simulation/descriptors.h"
#include "simulation/mappings.h"

namespace pmix::simulation {

namespace {

ResourceManager* g_manager = nullptr;

Node& this_node() {
    return *static_cast<Node*>(t_self->process->user);
}

std::string operation_name(const char* kind, const pmix_proc_t procs[], size_t n) {
    std::string name = kind;
    for (size_t i = 0; i < n; ++i)
        name += ' ' + (procs[i].rank == PMIX_RANK_WILDCARD ? std::string("*") : std::to_string(procs[i].rank));
    return name;
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
    ResourceManager::Part part{&this_node(),
                               local_status(infos, ninfos),
                               {data, data + ndata},
                               [cb, of](pmix_status_t status, const std::vector<char>& all) {
                                   auto* kept = new std::vector<char>(all);
                                   cb(
                                       status, kept->data(), kept->size(), of,
                                       [](void* p) { delete static_cast<std::vector<char>*>(p); }, kept);
                               }};
    std::free(data);
    rm.take_part(operation_name("fence", procs, n), rm.members_of(procs, n), std::move(part));
    return PMIX_SUCCESS;
}

pmix_status_t join_operation(const char* kind, const pmix_proc_t procs[], size_t n, const pmix_info_t infos[],
                             size_t ninfos, pmix_op_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    rm.take_part(
        operation_name(kind, procs, n), rm.members_of(procs, n),
        {&this_node(), local_status(infos, ninfos), {}, [cb, of](pmix_status_t status, const std::vector<char>&) {
             cb(status, of);
         }});
    return PMIX_SUCCESS;
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
    rm.take_part(
        operation_name((std::string(op == PMIX_GROUP_CONSTRUCT ? "construct " : "destruct ") + name).c_str(), procs, n),
        rm.members_of(procs, n),
        {&this_node(), local_status(infos, ninfos), {}, [cb, of](pmix_status_t status, const std::vector<char>&) {
             cb(status, nullptr, 0, of, nullptr, nullptr);
         }});
    return PMIX_SUCCESS;
}

pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t, pmix_modex_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    if (proc->rank >= static_cast<uint32_t>(rm.size.ranks())) return PMIX_ERR_NOT_FOUND;
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
        const auto answer = [](pmix_status_t status, char* data, size_t n, void* p) {
            auto* r = static_cast<Request*>(p);
            auto* copy = new std::vector<char>(data, data + n);
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

pmix_status_t publish(const pmix_proc_t*, const pmix_info_t infos[], size_t n, pmix_op_cbfunc_t cb, void* of) {
    auto& all = ResourceManager::get().published;
    for (size_t i = 0; i < n; ++i) {
        if (infos[i].key[0] != 'p' || std::strchr(infos[i].key, '.') != nullptr || infos[i].value.type != PMIX_UINT32)
            continue;
        if (!all.emplace(infos[i].key, infos[i].value.data.uint32).second)
            return status_later(cb, of, PMIX_ERR_DUPLICATE_KEY);
    }
    return status_later(cb, of);
}

pmix_status_t lookup(const pmix_proc_t*, char** keys, const pmix_info_t[], size_t, pmix_lookup_cbfunc_t cb, void* of) {
    auto& all = ResourceManager::get().published;
    const std::string key = keys[0];
    const auto found = all.find(key);
    const uint32_t value = found == all.end() ? 0 : found->second;
    const pmix_status_t status = found == all.end() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
    ResourceManager::get().post(this_node(), [cb, of, key, value, status] {
        if (status != PMIX_SUCCESS) return cb(status, nullptr, 0, of);
        pmix_pdata_t data{};
        std::strcpy(data.key, key.c_str());
        std::strcpy(data.proc.nspace, kJob);
        data.value.type = PMIX_UINT32;
        data.value.data.uint32 = value;
        cb(PMIX_SUCCESS, &data, 1, of);
    });
    return PMIX_SUCCESS;
}

// All other nodes are told; they deliver it to their processes.
pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, pmix_info_t infos[],
                     size_t n, pmix_op_cbfunc_t cb, void* of) {
    auto& rm = ResourceManager::get();
    const Node& from = this_node();
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

pmix_server_module_t module() {
    pmix_server_module_t m{};
    m.client_connected2 = client_connected;
    m.client_finalized = client_finalized;
    m.abort = aborted;
    m.fence_nb = fence;
    m.direct_modex = direct_modex;
    m.publish = publish;
    m.lookup = lookup;
    m.unpublish = unpublish;
    m.notify_event = notify;
    m.connect = connect;
    m.disconnect = disconnect;
    m.group = group;
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
    if (status == PMIX_SUCCESS) return;
    std::printf("WRONG the host's %s: %d\n", what, status);
    std::fflush(stdout);
    _exit(1);
}

// A process that has finalized the library has no descriptor, thread or mapping of it.
void nothing_left(const Process& p) {
    const auto descriptors = descriptors_of(p);
    const size_t threads = p.threads.size() - 1, mapped = mapped_by(p);
    if (descriptors.empty() && threads == 0 && mapped == 0) return;
    std::printf("WRONG %s has left %zu descriptors, %zu threads, %zu bytes of memory\n", p.name.c_str(),
                descriptors.size(), threads, mapped);
    std::fflush(stdout);
    _exit(1);
}

}  // namespace

ResourceManager& ResourceManager::get() {
    return *g_manager;
}

ResourceManager::ResourceManager(const Size& s, const std::vector<Library>& copies)
    : size(s), clients(static_cast<size_t>(s.ranks())), copies_(copies) {
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

void ResourceManager::take_part(const std::string& name, const std::vector<int>& members, Part part) {
    auto& open = operations_[name];
    size_t mine = 0;
    const auto has_joined = [&](const Operation& o) {
        return std::any_of(o.parts.begin(), o.parts.end(), [&](const Part& p) { return p.node == part.node; });
    };
    while (mine < open.size() && has_joined(open[mine])) ++mine;
    if (mine == open.size()) open.push_back({members, {}});
    open[mine].parts.push_back(std::move(part));
    end_if_complete(open, mine);
}

bool ResourceManager::is_alive(int rank) const {
    const Process* p = clients[static_cast<size_t>(rank)];
    return p == nullptr || p->alive;
}

bool ResourceManager::end_if_complete(std::deque<Operation>& open, size_t i) {
    std::set<Node*> missing;
    for (int r : open[i].members)
        if (is_alive(r)) missing.insert(nodes[static_cast<size_t>(node_of(r))].get());
    pmix_status_t status = PMIX_SUCCESS;
    for (const Part& p : open[i].parts) {
        missing.erase(p.node);
        if (p.status != PMIX_SUCCESS) status = p.status;
    }
    if (!missing.empty()) return false;
    for (int r : open[i].members)
        if (!is_alive(r) && status == PMIX_SUCCESS) status = PMIX_ERR_PARTIAL_SUCCESS;
    const auto done = std::make_shared<Operation>(std::move(open[i]));
    open.erase(open.begin() + static_cast<long>(i));
    const auto data = std::make_shared<std::vector<char>>();
    for (const Part& p : done->parts) data->insert(data->end(), p.data.begin(), p.data.end());
    for (size_t k = 0; k < done->parts.size(); ++k)
        post(*done->parts[k].node, [done, data, k, status] { done->parts[k].answer(status, *data); });
    return true;
}

void ResourceManager::look_again() {
    for (auto& [name, open] : operations_)
        for (size_t i = 0; i < open.size();)
            if (!end_if_complete(open, i)) ++i;
}

void ResourceManager::daemon(Node& node, const std::function<void(int, const Library&)>& client) {
    const Library& pmix = *node.pmix;
    pmix_server_module_t callbacks = module();
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
    finish([&](pmix_op_cbfunc_t cb, void* of) {
        pmix.server_deregister_nspace(kJob, cb, of);
        return PMIX_SUCCESS;
    });
    must("PMIx_server_finalize", pmix.server_finalize());
    node.deregistered = true;
}

bool ResourceManager::all_clients_ended() const {
    for (const Process* c : clients)
        if (c == nullptr || c->alive) return false;
    return true;
}

}  // namespace pmix::simulation
