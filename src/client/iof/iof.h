// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output as this process asks for it (PMIx_IOF_pull), and input that it sends (PMIx_IOF_push).
//
// Owns the registrations: who gets called, how lines are shown, which files are written. The public calls come from any
// thread and go over to the loop; everything else belongs to the loop. Callbacks run on it, one after the other, in the
// order in which the server sent; what has been dealt with (a callback has returned, a file or the terminal has taken
// the bytes) is given back to the server as credit, so that a callback that takes its time holds up its sources and not
// the server. A callback's payload is one malloc block that the callback may keep: it takes it and leaves NULL.
//
// What can go wrong: PMIX_ERR_NOT_SUPPORTED (the channel of stdin, a host that does not forward), PMIX_ERR_BAD_PARAM
// (an unknown registration). Bytes that the server had to drop are told: as "wireup.iof.lost" among a delivery's infos,
// and as an event PMIX_ERR_IOF_FAILURE of this process, which comes too where a file cannot be written.
#pragma once

#include <pmix_tool.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "client/iof/iof_console.h"
#include "client/iof/iof_stdin.h"
#include "common/protocol/messages.h"
#include "common/values/info_view.h"

namespace pmix::client {

class Session;

// Keys of our own in the infos of a delivery and of PMIX_ERR_IOF_FAILURE.
inline constexpr const char* kIofLostKey = "wireup.iof.lost";        // uint64_t: bytes
inline constexpr const char* kIofChannelKey = "wireup.iof.channel";  // pmix_iof_channel_t

class Iof {
  public:
    explicit Iof(Session& session);
    ~Iof();
    Iof(const Iof&) = delete;
    Iof& operator=(const Iof&) = delete;

    // Without a callback for the number: the number (>= 0) or a status.
    pmix_status_t pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[], size_t ninfos,
                       pmix_iof_channel_t channels, pmix_iof_cbfunc_t function, pmix_hdlr_reg_cbfunc_t callback,
                       void* cbdata);
    pmix_status_t deregister(size_t reference, const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback,
                             void* cbdata);
    pmix_status_t push(const pmix_proc_t targets[], size_t ntargets, const pmix_byte_object_t* bytes,
                       const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);
    // A tool's PMIX_IOF_LOCAL_OUTPUT: what its callbacks are given is written to its own stdout and stderr too, where a
    // pull does not say otherwise. Before the first call.
    void set_writes_too(bool yes) noexcept { writes_too_ = yes; }
    // A server's PMIX_IOF_LOCAL_OUTPUT: all that its host delivers is shown here. Loop.
    pmix_status_t show_all(common::InfoView infos);

    // From the server. Loop.
    void on_notify(common::IofNotify&& message);
    // This process finalizes: those who get its own stdin get no more. Not on the loop.
    void end_own_input();
    // Flushes; nobody is called any more. Loop.
    void shut() noexcept;
    // What is kept of processes and channels whose output has not ended. Loop.
    size_t streams() const noexcept;

  private:
    struct Handler;
    struct Stream;
    struct Registration;

    // All of these on the loop.
    common::Result<size_t> add(Registration& registration);
    void settle(size_t reference, pmix_status_t status);
    void tell_gone(size_t reference);
    void leave(size_t reference, bool wait_for_server, int timeout_s, std::function<void(pmix_status_t)> answer);
    void drop(size_t reference);
    Stream& stream_of(Handler& handler, const common::ProcId& source, pmix_iof_channel_t channel);
    void open_file(Handler& handler, Stream& stream);
    Stream& target_of(Handler& handler, Stream& stream);
    void write_file(Stream& target, std::string_view text);
    void show(Handler& handler, Stream& stream, std::string_view bytes, bool ends, size_t reference, size_t cost);
    void buffer(size_t reference, Stream& stream, common::Bytes bytes);
    void flush(size_t reference, Stream& stream);
    void call(size_t reference, const Stream& stream, std::string_view bytes, common::InfoList infos);
    void flush_all(size_t reference, Handler& handler, Stream& stream, size_t& cost);
    void finish_all(size_t reference, Handler& handler);
    void finish_stream(size_t reference, Handler& handler, Stream& stream, size_t cost, common::InfoList infos);
    void give_credit(size_t reference, size_t cost);
    void tell_failure(const Stream& stream, uint64_t lost);
    void forget_stream(Handler& handler, const common::ProcId& source, pmix_iof_channel_t channel);
    std::string where_of(const common::ProcId& source) const;

    Session& session_;
    std::map<size_t, std::shared_ptr<Handler>> handlers_;
    std::deque<size_t> told_gone_;  // references without a handler that the server was told of; the newest
    size_t next_ = 0;
    IofConsole console_;
    IofStdin stdin_;
    bool writes_too_ = false;
    bool shut_ = false;
};

}  // namespace pmix::client
