// SPDX-License-Identifier: Apache-2.0
#include "protocol/fields.h"

#include <algorithm>
#include <functional>

#include "protocol/check.h"

namespace lastword {

std::size_t RecordsField::size_bytes() const {
  const auto* files = std::get_if<std::vector<FileRange>>(&value);
  if (files == nullptr) return view().size();
  std::size_t total = 0;
  for (const FileRange& range : *files) total += range.length_bytes;
  return total;
}

ByteView RecordsField::view() const {
  if (const auto* owned = std::get_if<Bytes>(&value)) return *owned;
  LW_CHECK(std::holds_alternative<ByteView>(value));
  return *std::get_if<ByteView>(&value);
}

std::span<std::byte> mutable_in(std::span<std::byte> frame, ByteView view) {
  if (view.empty()) return {};
  const std::less_equal<const std::byte*> not_after;
  LW_CHECK(not_after(frame.data(), view.data()));
  LW_CHECK(not_after(view.data() + view.size(), frame.data() + frame.size()));
  return frame.subspan(static_cast<std::size_t>(view.data() - frame.data()), view.size());
}

DecodeLimits DecodeRules::limits(std::size_t wire_bytes) const {
  const std::size_t memory = std::min(wire_bytes, memory_bytes_max) * memory_ratio + kMemoryFloor;
  return {.elements_max = elements_max, .memory_bytes_max = std::min(memory, memory_bytes_max)};
}

Error decode_error(const Api& api, std::int16_t version, const std::string& path,
                   const Reader& in) {
  std::string text(api.name);
  text += " version " + std::to_string(version) + ": " + path;
  text += " (at byte " + std::to_string(in.position()) + " of the body) ";
  text += in.reason();
  return {ErrorKind::kMalformed, text};
}

Error surplus_error(const Api& api) {
  return {ErrorKind::kMalformed, std::string(api.name) + ": bytes after the last field"};
}

}  // namespace lastword
