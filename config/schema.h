// SPDX-License-Identifier: Apache-2.0
// The JSON schema of the settings file, for editors. Made from the tables; config/
// lastword.schema.json is this text, and a test compares them.
//
// Threads   a pure function.
#pragma once

#include <string>

namespace lastword {

/// JSON Schema draft 7, ending with a line break.
std::string settings_schema();

}  // namespace lastword
