// SPDX-License-Identifier: BSD-3-Clause
// Lists of infos as tests give them to calls. Values; any thread.
#pragma once

#include "common/values/value.h"

namespace pmix::test {

inline common::InfoList flag(const char* key) {
    common::InfoList infos;
    infos.append_flag(key, true);
    return infos;
}

}  // namespace pmix::test
