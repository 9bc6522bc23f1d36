// SPDX-License-Identifier: BSD-3-Clause
// Parameters of OpenPMIx that a user has set (PMIX_MCA_NAME in the environment, NAME in ~/.pmix/mca-params.conf), and
// what has their effect in this library: for the log, because they have none themselves.
//
// Free functions; nothing owned. log_replaced_parameters() is called under the library's mutex, on the thread of the
// init function, and does nothing while the log is off: the user's file is read only then, up to a limit. What can go
// wrong: a file that cannot be read, and names that are no parameters, are passed over. Values are not shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pmix::api {

// A line for each known parameter, in the order of their names: first those of the environment, then those of the file.
std::vector<std::string> replaced_parameters(const char* const* environment, std::string_view file);

// Once in each process.
void log_replaced_parameters();

}  // namespace pmix::api
