// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <fcntl.h>
#include <pmix.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace commands {
namespace {

const std::vector<Option> kConnection = {
    {"uri", "URI", "the server at this address, or with file:PATH the one whose address is in a file"},
    {"pid", "PID", "the server in the process with this number, or of the launcher that it is"},
    {"nspace", "NAME", "the server of this namespace, or of the job of this name"},
    {"system", nullptr, "the system's server"},
    {"system-first", nullptr, "the system's server, or else any"},
    {"wait", nullptr, "wait until there is a server"},
    {"timeout", "SECONDS", "how long to look for a server, or wait for it"},
};
const std::vector<Option> kAlways = {
    {"help", nullptr, "print this help and exit"},
    {"version", nullptr, "print the version of the library and exit"},
};

std::vector<Option> options_of(const Program& program) {
    std::vector<Option> all = program.options;
    if (program.connects) all.insert(all.end(), kConnection.begin(), kConnection.end());
    all.insert(all.end(), kAlways.begin(), kAlways.end());
    return all;
}

std::string option_text(const Option& option) {
    std::string text = std::string("--") + option.name;
    if (option.value != nullptr) text += std::string(" ") + option.value;
    return text;
}

struct Status {
    int code;
    const char* text;
};
std::vector<Status> statuses(const Program& program) {
    std::vector<Status> all = {
        {kGood, "done"}, {kFailed, "failed, with the reason on stderr"}, {kUsage, "wrong command line"}};
    if (program.connects) all.push_back({kNoServer, "no server answers"});
    return all;
}

void print_help(const Program& program) {
    std::printf("%s: %s\n\nusage: %s [OPTION...]%s%s\n\n%s\n\noptions:\n", program.name, program.summary, program.name,
                *program.operands != '\0' ? " " : "", program.operands, program.text);
    for (const Option& option : options_of(program))
        std::printf("  %-22s %s\n", option_text(option).c_str(), option.help);
    if (program.connects) {
        std::printf(
            "\nWithout one of --uri, --pid, --nspace, --system: the server that PMIX_SERVER_URI_WIREUP in the\n"
            "environment names, or the only one of yours on this node. PMIX_SERVER_TMPDIR narrows, TMPDIR prefers.\n");
    }
    std::printf("\nexit status:\n");
    for (const Status& s : statuses(program)) std::printf("  %d  %s\n", s.code, s.text);
    if (!program.examples.empty()) std::printf("\nexamples:\n");
    for (const auto& [command, what] : program.examples) std::printf("  %s\n      %s\n", command, what);
}

// For troff: a dash is a minus, a leading dot or quote is text.
std::string roff(const char* text) {
    std::string out;
    for (const char* c = text; *c != '\0'; ++c) {
        const bool line_start = out.empty() || out.back() == '\n';
        if (line_start && (*c == '.' || *c == '\'')) out += "\\&";
        if (*c == '\n' && c[1] == '\n') {
            out += "\n.PP\n";
            ++c;
        } else if (*c == '-') {
            out += "\\-";
        } else if (*c == '\\') {
            out += "\\e";
        } else {
            out += *c;
        }
    }
    return out;
}

void print_man(const Program& program) {
    std::printf(
        ".TH \"%s\" 1 \"\" \"Wireup\" \"Wireup\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n[OPTION...] %s\n"
        ".SH DESCRIPTION\n%s\n.SH OPTIONS\n",
        program.name, roff(program.name).c_str(), roff(program.summary).c_str(), roff(program.name).c_str(),
        roff(program.operands).c_str(), roff(program.text).c_str());
    for (const Option& option : options_of(program))
        std::printf(".TP\n.B %s\n%s\n", roff(option_text(option).c_str()).c_str(), roff(option.help).c_str());
    if (program.connects) {
        std::printf(
            ".SH ENVIRONMENT\n.TP\n.B PMIX_SERVER_URI_WIREUP\nthe server to use where no option names one; "
            "without it, any server of yours on this node\n");
    }
    std::printf(".SH EXIT STATUS\n");
    for (const Status& s : statuses(program)) std::printf(".TP\n.B %d\n%s\n", s.code, roff(s.text).c_str());
    if (!program.examples.empty()) std::printf(".SH EXAMPLES\n");
    for (const auto& [command, what] : program.examples)
        std::printf(".TP\n.B %s\n%s\n", roff(command).c_str(), roff(what).c_str());
}

}  // namespace

namespace {
const char* g_name = "";

// What was printed may never have reached a full disk: then the command has failed, whatever its status would be.
void check_output() {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    // Of a write that failed before, the reason is not known any more.
    std::fprintf(stderr, "%s: cannot write: %s\n", g_name, std::strerror(errno != 0 ? errno : EIO));
    ::_exit(kFailed);
}

// Else the library's descriptors would take the numbers of closed streams, and what is printed would go into them. For
// reading only: what is printed to a closed stdout has failed.
void have_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != fd) ::_exit(kFailed);
}
}  // namespace

CommandLine::CommandLine(const Program& program, int argc, char** argv) : program_(program) {
    g_name = program.name;
    have_streams();
    std::atexit(&check_output);
    const std::vector<Option> options = options_of(program);
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        if (word == "--") {
            for (++i; i < argc; ++i) operands_.push_back(argv[i]);
            break;
        }
        if (word == "-h") word = "--help";
        if (word.rfind("--", 0) != 0 || word.size() == 2) {
            operands_.push_back(word);
            continue;
        }
        if (word == "--man") {
            print_man(program);
            std::exit(kGood);
        }
        const size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
        const Option* known = nullptr;
        for (const Option& option : options)
            if (name == option.name) known = &option;
        if (known == nullptr) wrong("there is no option --" + name);
        std::string value;
        if (known->value == nullptr) {
            if (equals != word.npos) wrong("--" + name + " takes no value");
        } else if (equals != word.npos) {
            value = word.substr(equals + 1);
        } else if (++i < argc) {
            value = argv[i];
        } else {
            wrong("--" + name + " needs " + known->value);
        }
        // An unset variable of a shell: to take it for "any server", or for a name, would be a guess.
        if (known->value != nullptr && value.empty()) wrong("--" + name + " needs " + known->value);
        given_.emplace(name, value);
    }
    if (has("help")) {
        print_help(program);
        std::exit(kGood);
    }
    if (has("version")) {
        std::printf("%s: %s\n", program.name, PMIx_Get_version());
        std::exit(kGood);
    }
    if (operands_.size() < program.min_operands) wrong("missing operand");
    if (operands_.size() > program.max_operands) wrong("unexpected operand '" + operands_[program.max_operands] + "'");
}

void CommandLine::wrong(const std::string& why) const {
    std::fprintf(stderr, "%s: %s\nusage: %s [OPTION...]%s%s   (--help lists the options)\n", program_.name, why.c_str(),
                 program_.name, *program_.operands != '\0' ? " " : "", program_.operands);
    std::exit(kUsage);
}

std::string CommandLine::text(const std::string& option, const std::string& otherwise) const {
    const std::vector<std::string> values = all(option);
    return values.empty() ? otherwise : values.back();
}

std::vector<std::string> CommandLine::all(const std::string& option) const {
    std::vector<std::string> values;
    const auto [begin, end] = given_.equal_range(option);
    for (auto it = begin; it != end; ++it) values.push_back(it->second);
    return values;
}

long CommandLine::number(const std::string& option, long otherwise, long min, long max) const {
    if (!has(option)) return otherwise;
    long n = 0;
    if (!to_number(text(option), n) || n < min)
        wrong("--" + option + " needs a number of at least " + std::to_string(min) + ", not " + text(option));
    if (n > max) wrong("--" + option + " needs a number of at most " + std::to_string(max) + ", not " + text(option));
    return n;
}

std::pair<std::string, std::string> split(const std::string& text, char at) {
    const size_t place = text.find(at);
    if (place == text.npos) return {text, ""};
    return {text.substr(0, place), text.substr(place + 1)};
}

std::vector<std::string> split_all(const std::string& text, char at) {
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(at, begin)) != text.npos; begin = end + 1)
        parts.push_back(text.substr(begin, end - begin));
    parts.push_back(text.substr(begin));
    return parts;
}

bool to_number(const std::string& text, long& out) {
    if (text.empty()) return false;
    char* end = nullptr;
    errno = 0;
    out = std::strtol(text.c_str(), &end, 10);
    return errno == 0 && *end == '\0';
}

}  // namespace commands
