// SPDX-License-Identifier: Apache-2.0
#include "client/commands/command.h"
namespace lastword::client {
void add_table(Program&) {}
}  // namespace lastword::client
