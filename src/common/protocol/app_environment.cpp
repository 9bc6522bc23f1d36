// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/app_environment.h"

#include <pmix_common.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace pmix::common {
namespace {

constexpr std::string_view kModelKeys[] = {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION,
                                           PMIX_PERSONALITY};

// Set for each process by its own launcher.
constexpr std::string_view kOfOneProcess[] = {
    "OMPI_COMM_WORLD_", "OMPI_WORLD_",           "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS", "OMPI_MCA_ess_",         "OMPI_MCA_orte_",     "OMPI_MCA_pmix",    "OMPI_FILE_LOCATION",
    "OMPI_COMMAND",     "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs", "OMPI_ARGV",        "OMPI_MCA_shmem_RUNTIME",
};

// How the libraries of GPUs and fabrics are to work.
constexpr std::string_view kOfDevices[] = {"CUDA_",  "NCCL_",  "RCCL_", "UCX_",  "UCC_",
                                           "HCOLL_", "SHARP_", "HFI_",  "PSM2_", "PSM3_"};
// The devices of one process, or of the node where the job is started.
constexpr std::string_view kChooseDevices[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};

}  // namespace

bool is_device_variable(std::string_view name) noexcept {
    if (std::ranges::find(kChooseDevices, name) != std::end(kChooseDevices)) return false;
    return std::ranges::any_of(kOfDevices, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool detail::goes_along(std::string_view name, bool open_mpi) noexcept {
    if (name.starts_with("PMIX_MCA_") || is_device_variable(name)) return true;
    if (!open_mpi || !name.starts_with("OMPI_")) return false;
    return std::ranges::none_of(kOfOneProcess, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool names_open_mpi(std::string_view model) noexcept {
    std::string plain;
    for (const char c : model) {
        if (c != ' ' && c != '-' && c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return plain.find("ompi") != std::string::npos || plain.find("openmpi") != std::string::npos;
}

bool is_model_key(std::string_view key) noexcept {
    return std::ranges::find(kModelKeys, key) != std::end(kModelKeys);
}

}  // namespace pmix::common
