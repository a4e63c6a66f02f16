// SPDX-License-Identifier: Apache-2.0
// How a command line is explained: help texts, checks of values, and what is said of one that is
// wrong.
//
// Purpose   so that every refusal names the word at fault and, where one is near, the right one.
// Threads   one.
// Lifetime  what is returned holds copies.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace lastword::client {

/// For Option::check(): why a word is refused, or nothing.
using Check = std::function<std::string(const std::string&)>;
Check one_of(std::vector<std::string> words);
/// Without the library's bounds as floating point.
Check whole_number(std::int64_t low, std::int64_t high = std::numeric_limits<std::int32_t>::max());
Check name_and_value();

/// Help texts without what the library adds of its own.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
};

/// `lastword help COMMAND`.
void add_help(CLI::App& program, std::function<int()>& action);

/// Says what ended the parse, on standard error, or prints the help that was asked for; the exit
/// code.
int explain(const CLI::App& program, const CLI::ParseError& error);

}  // namespace lastword::client
