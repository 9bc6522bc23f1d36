// SPDX-License-Identifier: BSD-3-Clause
// Between the frames of this process's session and OpenPMIx's messages: data, fence, finalize and abort. What else a
// session asks for is in services.h.
//
// Owned by an OpenPmixChannel. Loop thread only. What the server answers to a Get goes into the shadow, and the session
// is told to look there; a segment that it does not have yet reaches it before the answer. A request that the server
// has no command for is answered with PMIX_ERR_NOT_SUPPORTED here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "client/openpmix/exchange.h"
#include "client/openpmix/services.h"
#include "client/openpmix/shadow.h"
#include "dstore/private_store.h"
#include "openpmix/read_ahead.h"

namespace pmix::client {

class OpenPmixTranslator final : private OpenPmixExchange::Ends {
  public:
    OpenPmixTranslator(OpenPmixExchange::Ends& ends, std::unique_ptr<Shadow> shadow, common::ProcId self,
                       const openpmix::Traits& traits);
    ~OpenPmixTranslator();

    void set_is_tool() noexcept { services_.set_is_tool(); }
    // From the session.
    void frame(const common::FrameHeader& header, common::Bytes payload);
    // Is a message with this tag a fence's answer, and nothing else awaited?
    bool is_all_awaited(uint32_t tag) const noexcept { return exchange_.is_all_awaited(tag); }
    // From the server. What nobody has asked for and nothing is known of is dropped.
    void message(const openpmix::FrameHeader& header, common::Bytes payload);

  private:
    struct Wanted;  // a Get

    // OpenPmixExchange::Ends, between the exchange and the owner's.
    void send_message(uint32_t tag, common::Bytes payload) override { ends_.send_message(tag, payload); }
    void deliver_frame(const common::FrameHeader& header, common::Bytes payload,
                       std::vector<transport::Descriptor>&& descriptors) override;
    pmix_status_t deliver_segment(const common::SegmentRef& segment, transport::Descriptor&& descriptor);
    void deliver_end(const std::string& nspace, uint64_t instance);

    void deleted(common::Bytes payload);
    bool request(const common::FrameHeader& header, common::Bytes payload);
    void commit(const common::FrameHeader& header, common::Bytes payload);
    void fence(const common::FrameHeader& header, common::Bytes payload);
    void get(const common::FrameHeader& header, common::Bytes payload);
    void refresh(const common::FrameHeader& header, common::GetRequest&& ours);
    void ask_for(const common::FrameHeader& header, const common::GetRequest& ours, bool fetches_anew);
    bool settle_here(const common::FrameHeader& header, common::GetRequest& ours);
    void read_ahead(common::Rank wanted);
    void ask_ahead(common::Rank rank) noexcept;
    void ask_the_only_peer();
    void take_ahead(common::Rank rank, uint64_t exchanges, common::Bytes payload);
    bool has(const Wanted& wanted) const;
    bool has_new(const common::GetRequest& ours) const;
    void take_get_reply(const Wanted& wanted, common::Bytes payload);
    void attach(const common::FrameHeader& header, common::Bytes payload);
    void take_attach_reply(const common::FrameHeader& header, const std::string& nspace, uint64_t exchanges,
                           common::Bytes payload);
    pmix_status_t take_objects(const std::string& nspace, const openpmix::ByteObjects& objects, uint64_t exchanges,
                               const Wanted* wanted, common::Result<common::Blob>* found);
    template <class Reply>
    void reply_with_segment(const common::FrameHeader& header, Reply&& reply, const std::string& nspace, bool lacks);

    OpenPmixExchange::Ends& ends_;
    OpenPmixExchange exchange_;
    const std::unique_ptr<Shadow> shadow_;
    const common::ProcId self_;
    OpenPmixServices services_;
    const dstore::PrivateStore nothing_;
    // Reserved keys of this job and this process that the server does not have, until something may have changed that.
    std::set<std::tuple<common::Rank, std::string>> absent_;

    // Since the last exchange; none before the first.
    std::optional<openpmix::ReadAhead> ahead_;
    bool has_put_ = false;         // since the last fence
    bool has_large_data_ = false;  // some process: nothing of it is asked for unless it is wanted
    // Processes of this job that are being asked about ahead, and the Gets that wait for what comes.
    struct Waiting {
        common::FrameHeader header;
        common::GetRequest request;
    };
    std::map<common::Rank, std::vector<Waiting>> asked_ahead_;
};

}  // namespace pmix::client
