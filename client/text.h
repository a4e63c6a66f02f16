// SPDX-License-Identifier: Apache-2.0
// Values in words for people and for lines of text: fields, times, sizes, tables.
//
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/record.h"

namespace lastword::client {

/// A field on one line: "(null)" and "(empty)" for those, else its bytes, with control characters
/// and backslashes escaped as in C. Bytes that would read "(null)" or "(empty)" get a backslash in
/// front.
std::string visible(const Field& field);

/// Undoes \t, \n, \r, \0, \\ and \xNN, for separators on a command line; empty if an escape is
/// none of these.
std::optional<std::string> unescaped(std::string_view text);

/// "2026-01-05T10:00:00.000Z"; "-" for a negative time.
std::string time_text(TimestampMs time_ms);

/// The two largest units that matter: "3 h 12 min", "45 s", "900 ms".
std::string duration_text(std::int64_t duration_ms);

/// The same for what is still to come, rounded up: a second short of a week is "7 d".
std::string duration_left_text(std::int64_t duration_ms);

/// "1.2 MiB", "812 B".
std::string size_text(std::int64_t bytes);

/// "1 record", "2 records".
std::string count_text(std::int64_t count, std::string_view noun);

/// A topic's setting for people: "1d (86400000)", "no limit", or as it is.
std::string setting_text(std::string_view name, const std::string& value);

/// Columns padded to their widest cell, two spaces apart; the first row is the heading.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace lastword::client
