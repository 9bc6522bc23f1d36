// SPDX-License-Identifier: BSD-3-Clause
// Command lines: one description of a program from which its parsing, its --help and its man page are made.
//
// Our own because the man page has to come from the same place as the help, and because a parser of the package that
// Debian has (CLI11) makes each of these programs a megabyte larger. One thread; exits by itself on --help, --version,
// --man and on a wrong command line (status 2).
#pragma once

#include <climits>
#include <map>
#include <string>
#include <vector>

namespace commands {

// The exit statuses of every command.
enum Exit : int {
    kGood = 0,
    kFailed = 1,  // the server, or its host, could not or would not
    kUsage = 2,
    kNoServer = 3,  // no server answers
};

struct Option {
    const char* name;   // without the dashes
    const char* value;  // its name in the help; nullptr: a flag
    const char* help;
};

struct Program {
    const char* name;
    const char* summary;   // half a sentence
    const char* operands;  // for the usage line; "" for none
    const char* text;      // paragraphs, separated by empty lines
    std::vector<Option> options;
    bool connects;  // takes the options that choose a server
    size_t min_operands, max_operands;
    std::vector<std::pair<const char*, const char*>> examples;  // command, what it does
};

class CommandLine {
  public:
    CommandLine(const Program& program, int argc, char** argv);

    bool has(const std::string& option) const { return given_.count(option) != 0; }
    // The last one given, or otherwise.
    std::string text(const std::string& option, const std::string& otherwise = "") const;
    std::vector<std::string> all(const std::string& option) const;
    // A whole number from `min` to `max`; anything else is a wrong command line. What goes into an int fits by default.
    long number(const std::string& option, long otherwise, long min = 0, long max = INT_MAX) const;
    const std::vector<std::string>& operands() const { return operands_; }
    const Program& program() const { return program_; }
    // A wrong command line: prints the reason and exits.
    [[noreturn]] void wrong(const std::string& why) const;

  private:
    const Program& program_;
    std::multimap<std::string, std::string> given_;
    std::vector<std::string> operands_;
};

// name=value, or name.
std::pair<std::string, std::string> split(const std::string& text, char at);
std::vector<std::string> split_all(const std::string& text, char at);
// All of text, as a number.
bool to_number(const std::string& text, long& out);

}  // namespace commands
