// SPDX-License-Identifier: BSD-3-Clause
// The headers that most test files read, compiled once for all of them where a sanitizer makes that long.
//
// Owns nothing. A test file includes what it uses all the same.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/values/info_view.h"
#include "common/values/value.h"
#include "support/fake_client.h"
#include "support/server_here.h"
#include "support/status.h"
