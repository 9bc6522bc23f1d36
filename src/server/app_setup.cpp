#include "server/app_setup.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;

constexpr std::string_view kModelKeys[] = {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION,
                                           PMIX_PERSONALITY};

// Set for each process by its own launcher.
constexpr std::string_view kOfOneProcess[] = {
    "OMPI_COMM_WORLD_", "OMPI_WORLD_",           "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS", "OMPI_MCA_ess_",         "OMPI_MCA_orte_",     "OMPI_MCA_pmix",    "OMPI_FILE_LOCATION",
    "OMPI_COMMAND",     "OMPI_MCA_initial_wdir", "OMPI_MCA_num_procs", "OMPI_ARGV",        "OMPI_MCA_shmem_RUNTIME",
};

bool goes_along(std::string_view name, bool open_mpi) noexcept {
    if (name.starts_with("PMIX_MCA_")) return true;
    if (!open_mpi || !name.starts_with("OMPI_")) return false;
    return std::ranges::none_of(kOfOneProcess, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

pmix_status_t harvest(bool open_mpi, InfoList& out) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const size_t equals = text.find('=');
        if (equals == std::string_view::npos || !goes_along(text.substr(0, equals), open_mpi)) continue;
        std::string name(text.substr(0, equals));
        std::string value(text.substr(equals + 1));
        const pmix_envar_t variable{name.data(), value.data(), '\0'};
        const pmix_status_t rc = out.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

}  // namespace

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

common::Result<InfoList> set_up_application(InfoView wishes) {
    bool all = false, variables = false, others = false;
    pmix_status_t rc = wishes.get(PMIX_SETUP_APP_ALL, &all);
    if (rc == PMIX_SUCCESS) rc = wishes.get(PMIX_SETUP_APP_ENVARS, &variables);
    if (rc == PMIX_SUCCESS) rc = wishes.get(PMIX_SETUP_APP_NONENVARS, &others);
    if (rc != PMIX_SUCCESS) return rc;

    // Without a word on the model, what Open MPI would need goes along: others do not mind it.
    bool said = false, open_mpi = false;
    for (const pmix_info_t& info : wishes) {
        const std::string_view key = common::key_view(info);
        if (!is_model_key(key) || key == PMIX_MODEL_LIBRARY_VERSION) continue;
        if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
        said = true;
        open_mpi = open_mpi || names_open_mpi(info.value.data.string);
    }
    InfoList answer;
    if (all || variables) rc = harvest(open_mpi || !said, answer);
    for (const pmix_info_t& info : wishes) {
        if (rc == PMIX_SUCCESS && (all || others) && is_model_key(common::key_view(info))) rc = answer.append(info);
    }
    if (rc != PMIX_SUCCESS) return rc;
    return answer;
}

}  // namespace pmix::server
