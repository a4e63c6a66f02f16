// SPDX-License-Identifier: Apache-2.0
#include "storage/file_names.h"

#include <charconv>
#include <limits>

#include "protocol/check.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kOffsetDigits = 20;
constexpr std::size_t kNameBytesMax = 255;  // of the usual file systems
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::string_view kSnapshotSuffix = ".snapshot";
constexpr std::string_view kDeletedSuffix = ".deleted";

struct Suffix {
  SegmentFile file;
  std::string_view text;
};
constexpr Suffix kSegmentSuffixes[] = {{SegmentFile::kLog, ".log"},
                                       {SegmentFile::kOffsetIndex, ".index"},
                                       {SegmentFile::kTimeIndex, ".timeindex"}};

std::string offset_digits(Offset offset) {
  LW_CHECK(offset >= 0);
  const std::string digits = std::to_string(offset);
  return std::string(kOffsetDigits - digits.size(), '0') + digits;
}

/// Decimal digits alone, in range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// As parse_number, but only as std::to_string writes it.
template <class Number>
std::optional<Number> parse_plain_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return parse_number<Number>(text);
}

std::optional<Offset> parse_offset_digits(std::string_view text) {
  if (text.size() != kOffsetDigits) return std::nullopt;
  return parse_number<Offset>(text);
}

bool remove_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::string path_in(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string parent_directory(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string temporary_path(std::string_view path) {
  return std::string(path).append(kTemporarySuffix);
}

bool is_temporary_name(std::string_view name) { return name.ends_with(kTemporarySuffix); }

std::string segment_file_name(const SegmentFileName& parts) {
  std::string name = offset_digits(parts.base_offset);
  if (parts.generation != 0) name.append(1, '.').append(std::to_string(parts.generation));
  for (const Suffix& suffix : kSegmentSuffixes) {
    if (suffix.file == parts.file) name.append(suffix.text);
  }
  return name;
}

std::optional<SegmentFileName> parse_segment_file_name(std::string_view name) {
  for (const Suffix& suffix : kSegmentSuffixes) {
    std::string_view rest = name;
    if (!remove_suffix(rest, suffix.text)) continue;
    const auto base_offset = parse_offset_digits(rest.substr(0, kOffsetDigits));
    if (!base_offset) return std::nullopt;
    SegmentFileName parts{.base_offset = *base_offset, .file = suffix.file};
    rest.remove_prefix(kOffsetDigits);
    if (rest.empty()) return parts;
    if (rest.front() != '.') return std::nullopt;
    const auto generation = parse_plain_number<std::uint32_t>(rest.substr(1));
    if (!generation || *generation == 0) return std::nullopt;
    parts.generation = *generation;
    return parts;
  }
  return std::nullopt;
}

std::string producer_snapshot_name(Offset end_offset) {
  return offset_digits(end_offset).append(kSnapshotSuffix);
}

std::optional<Offset> parse_producer_snapshot_name(std::string_view name) {
  if (!remove_suffix(name, kSnapshotSuffix)) return std::nullopt;
  return parse_offset_digits(name);
}

std::string partition_directory_name(std::string_view topic, std::int32_t partition) {
  return std::string(topic).append(1, '-').append(std::to_string(partition));
}

std::optional<PartitionName> parse_partition_directory_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos || dash == 0) return std::nullopt;
  const auto partition = parse_plain_number<std::int32_t>(name.substr(dash + 1));
  if (!partition) return std::nullopt;
  return PartitionName{.topic = std::string(name.substr(0, dash)), .partition = *partition};
}

std::string deleted_directory_name(std::string_view partition_directory, std::string_view id) {
  const std::size_t tail_bytes = 1 + id.size() + kDeletedSuffix.size();
  LW_CHECK(tail_bytes < kNameBytesMax);
  return std::string(partition_directory.substr(0, kNameBytesMax - tail_bytes))
      .append(1, '.')
      .append(id)
      .append(kDeletedSuffix);
}

bool is_deleted_directory_name(std::string_view name) { return name.ends_with(kDeletedSuffix); }

}  // namespace lastword::storage
