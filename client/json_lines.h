// SPDX-License-Identifier: Apache-2.0
// Records as lines of JSON, which `consume` writes and `produce` reads.
//
//   {"partition": 0, "offset": 812, "timestamp": 1767607200000, "key": "c-7", "value": null,
//    "headers": {"source": "web"}}
//
// Null is null, "" is empty; a key that is left out is null, a value may not be left out. Bytes
// that are no UTF-8 are in "key_base64" and "value_base64" instead. Headers that an object cannot
// hold (a name twice, a value that is no text) are a list of {"key": …, "value" or "value_base64":
// …}.
//
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <string>
#include <string_view>

#include "client/record.h"
#include "protocol/result.h"

namespace lastword::client {

/// One line, without its end.
std::string to_json(const ConsumedRecord& record);
/// A key and what it stands for: {"key": …, "value": …}.
std::string to_json(const Field& key, const Field& value);

/// The reverse. "topic" and "offset" are read over; any other name that is not listed above is
/// refused, as a value that is missing is, and a number that its field cannot hold.
Result<Record> record_of_json(std::string_view line);

}  // namespace lastword::client
