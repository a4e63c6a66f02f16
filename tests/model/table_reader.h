// SPDX-License-Identifier: Apache-2.0
// A reader that keeps a table as readers of a compacted topic do: slowly, and heeding the mark.
//
// Rule      it takes the mark at the start of a scan from log start. Whenever an answer carries a
//           mark above both that one and its position, or log start has passed its position, it may
//           have missed a delete and begins anew. Otherwise what it holds at the high watermark is
//           right.
// Threads   one.
// Lifetime  outlives the log; only values are kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/model/model.h"
#include "tests/model/observation.h"

namespace lastword::model {

class TableReader {
 public:
  /// Reads one answer of about `bytes_max`; compares when that took it to the high watermark.
  /// Empty, or what is wrong.
  std::string read_some(const storage::Log& log, const PartitionModel& model,
                        std::uint64_t bytes_max);

  std::uint64_t told() const { return told_; }          // how often deletes were missed
  std::uint64_t compared() const { return compared_; }  // how often it was at the end, and right
  /// Forgets everything: another reader.
  void restart() { scanning_ = false; }

 private:
  void start(const storage::Offsets& offsets);
  std::string compare(const storage::Offsets& offsets, const PartitionModel& model) const;

  bool scanning_ = false;
  Offset position_ = 0;
  Offset kept_mark_ = 0;
  std::map<std::string, std::string> table_{};
  std::uint64_t told_ = 0;
  std::uint64_t compared_ = 0;
};

}  // namespace lastword::model
