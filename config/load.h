// SPDX-License-Identifier: Apache-2.0
// From the settings file to `BrokerOptions`, or to clear errors.
//
// Purpose   read at start, at SIGHUP and by --check-config. An error names file, line, path of the
//           key, what is allowed and, for an unknown name, the nearest valid one. All errors of a
//           file are told at once, one a line, up to 20.
// Threads   pure functions, but for reading the file.
// Lifetime  values only.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/options.h"

namespace lastword {

struct LoadedOptions {
  BrokerOptions options{};
  std::vector<std::string> notes{};  // to be logged: what was accepted but means nothing here
};

using LoadResult = std::variant<LoadedOptions, std::string>;

/// Reads the file at `path`, at most 16 MiB.
LoadResult load_options(const std::string& path);

/// The same for a text; `file_name` is only for messages and for `BrokerOptions::file`.
LoadResult parse_options(std::string_view text, const std::string& file_name);

}  // namespace lastword
