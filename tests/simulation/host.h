// SPDX-License-Identifier: BSD-3-Clause
// A simulated resource manager: one object for all nodes, whose daemons are simulated processes with the server
// library.
//
// An upcall is answered at once, later or by another node's part of an operation, as the seed says. What a daemon has
// to do comes into its inbox and is done by its first thread, so that callbacks come from another thread than upcalls.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulation/library.h"
#include "simulation/model.h"
#include "simulation/program.h"
#include "simulation/scheduler.h"

namespace pmix::simulation {

struct Node {
    int index = 0;
    Process* process = nullptr;
    const Library* pmix = nullptr;
    struct Errand {
        Nanoseconds at;
        std::function<void()> run;
    };
    std::deque<Errand> inbox;
    std::map<int, Nanoseconds> last_from;  // by node: the time of the last errand in order
    bool lost = false;
    bool deregistered = false;
};

class ResourceManager {
  public:
    ResourceManager(const Size& size, const std::vector<Library>& copies, const HostWays& ways);
    // Starts the daemons, which start the clients: `client` is the program of a rank.
    void start(std::function<void(int rank, const Library&)> client);
    bool all_ended() const;
    bool all_clients_ended() const;

    const Size size;
    const HostWays ways;
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Process*> clients;  // by rank; null: not started yet
    int node_of(int rank) const { return rank / size.ranks_per_node; }

    // A daemon does this after some time.
    void post(Node& node, std::function<void()> run);
    // The same, behind what has come from that node this way.
    void post_in_order(Node& node, const Node& from, std::function<void()> run);
    // An operation in which each node of its members takes part, once. The directives are those of the node's members.
    struct Part {
        Node* node;
        pmix_status_t status;  // of its node's members
        Directives asked;
        std::vector<char> data;
        std::function<void(pmix_status_t, const std::vector<char>&, uint32_t number)> answer;
    };
    // Returns what the upcall returns.
    pmix_status_t take_part(const std::string& kind, const std::vector<int>& members, Part part);
    // A process has ended: operations do not wait for it any more.
    void look_again();
    bool is_alive(int rank) const;
    std::vector<int> members_of(const pmix_proc_t procs[], size_t n) const;

    bool fails() const;                                     // the seed decides that an upcall fails
    std::map<std::string, std::vector<Answered>> answered;  // by operation_name
    std::set<std::pair<int, int>> failed_modex;             // node of the reader, rank
    std::vector<Modex> modexes;
    uint64_t* positions = nullptr;  // of the history
    struct Published {
        const Library* pmix;
        pmix_value_t value;
    };
    std::map<std::string, Published> published;
    static ResourceManager& get();

  private:
    void daemon(Node& node, const std::function<void(int, const Library&)>& client);
    struct Operation {
        std::vector<int> members;
        std::vector<Part> parts;
        Answered outcome;
        Nanoseconds began;
    };
    bool end_if_complete(const std::string& name, std::deque<Operation>& open, size_t i);
    std::map<std::string, std::deque<Operation>> operations_;
    uint32_t last_number_ = 0;
    const std::vector<Library>& copies_;
};

constexpr const char* kJob = "job";

}  // namespace pmix::simulation
