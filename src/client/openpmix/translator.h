// SPDX-License-Identifier: BSD-3-Clause
// Between the frames of this process's session and OpenPMIx's messages: data, fence, finalize and abort. What else a
// session asks for is in services.h.
//
// Owned by an OpenPmixChannel. Loop thread only. What the server answers to a Get goes into the shadow, and the session
// is told to look there. A request that the server has no command for is answered with PMIX_ERR_NOT_SUPPORTED here.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "client/openpmix/exchange.h"
#include "client/openpmix/services.h"
#include "client/openpmix/shadow.h"

namespace pmix::client {

class OpenPmixTranslator {
  public:
    OpenPmixTranslator(OpenPmixExchange::Ends& ends, std::unique_ptr<Shadow> shadow, common::ProcId self,
                       const openpmix::Traits& traits);
    ~OpenPmixTranslator();

    // From the session.
    void frame(const common::FrameHeader& header, common::Bytes payload);
    // From the server. What nobody has asked for and nothing is known of is dropped.
    void message(const openpmix::FrameHeader& header, common::Bytes payload);

  private:
    struct Wanted;  // a Get

    bool request(const common::FrameHeader& header, common::Bytes payload);
    void commit(const common::FrameHeader& header, common::Bytes payload);
    void fence(const common::FrameHeader& header, common::Bytes payload);
    void get(const common::FrameHeader& header, common::Bytes payload);
    void refresh(const common::FrameHeader& header, const common::GetRequest& request);
    void take_get_reply(const Wanted& wanted, common::Bytes payload);
    void attach(const common::FrameHeader& header, common::Bytes payload);
    void take_attach_reply(const common::FrameHeader& header, const std::string& nspace, common::Bytes payload);
    pmix_status_t take_objects(const std::string& nspace, const openpmix::ByteObjects& objects, const Wanted* wanted,
                               common::Result<common::Blob>* found);
    template <class Reply>
    void reply_with_segment(const common::FrameHeader& header, Reply&& reply, const std::string& nspace);

    OpenPmixExchange exchange_;
    const std::unique_ptr<Shadow> shadow_;
    const common::ProcId self_;
    OpenPmixServices services_;
    // Reserved keys that the server does not have.
    std::set<std::tuple<std::string, common::Rank, std::string>> absent_;
};

}  // namespace pmix::client
