// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/late_acknowledgements.h"

#include <new>
#include <utility>

namespace pmix::openpmix {

LateAcknowledgements::~LateAcknowledgements() {
    transport::assert_on_loop();
    if (timer_ != 0) loop_.cancel(timer_);
}

void LateAcknowledgements::add(const std::shared_ptr<Stream>& stream) noexcept {
    if (!stream->enlist_to_acknowledge()) return;
    try {
        streams_.push_back(stream);
        if (timer_ == 0) {
            timer_ = loop_.after(kMomentMs, [this] {
                transport::assert_on_loop();
                timer_ = 0;
                acknowledge();
            });
        }
    } catch (const std::bad_alloc&) {
        stream->acknowledge_unanswered();
        acknowledge();
    }
}

void LateAcknowledgements::acknowledge() noexcept {
    for (const auto& one : streams_)
        if (const auto stream = one.lock()) stream->acknowledge_unanswered();
    streams_.clear();
}

}  // namespace pmix::openpmix
