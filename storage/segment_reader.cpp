// SPDX-License-Identifier: Apache-2.0
#include "storage/segment_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/check.h"
#include "protocol/crc32c.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kReadAheadBytes = 512u << 10;
constexpr std::size_t kMagicAt = 16;

// Fake headers that each claim a large batch could make a search compute checksums for ever.
constexpr std::uint64_t kCheckedBytesPerByte = 32;
constexpr std::uint64_t kCheckedBytesMin = 64u << 20;

constexpr Offset kRelativeOffsetMax = std::numeric_limits<std::int32_t>::max();

/// Reads until `into` is full or the file ends.
Result<std::size_t> read_fully(const ByteSource& file, std::uint64_t position,
                               std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    auto read = file.read_at(position + done, into.subspan(done));
    if (!read) return read.take_error();
    if (*read == 0) break;
    done += *read;
  }
  return done;
}

}  // namespace

SegmentReader::Range SegmentReader::Range::of_segment(Offset base_offset, std::uint64_t to) {
  const Offset room = std::numeric_limits<Offset>::max() - base_offset;
  return {0, to, base_offset, base_offset + std::min(room, kRelativeOffsetMax)};
}

SegmentReader::SegmentReader(std::shared_ptr<const ByteSource> file, Range range, Bytes& buffer)
    : file_(std::move(file)),
      range_(range),
      buffer_(buffer),
      position_(range.from),
      buffer_position_(range.from),
      last_offset_(range.first_offset - 1) {
  LW_CHECK(range.from <= range.to);
}

Error SegmentReader::damaged(const std::string& reason) const {
  return {ErrorKind::kDamaged,
          "the bytes at position " + std::to_string(position_) + " are no batch: " + reason};
}

Result<std::optional<BatchAt>> SegmentReader::next() {
  if (left(position_) == 0) return std::optional<BatchAt>{};
  auto front = peek(position_, kBatchHeaderBytes);
  if (!front) return front.take_error();
  const auto header = read_batch_header(*front);
  if (!header) return damaged("they are fewer than a header");
  if (!plausible(*header)) return damaged("the header is none");
  if (header->size_bytes() > left(position_)) {
    return damaged("they claim more bytes than there are");
  }
  if (!fits(*header, position_)) {
    return damaged("offset " + std::to_string(header->base_offset) + " does not follow " +
                   std::to_string(last_offset_) + " in this segment");
  }
  // The length is believed, and the buffer grows for it, only when the CRC holds.
  const bool large = header->size_bytes() > kReadAheadBytes;
  if (large) {
    auto holds = crc_holds_at(*header, position_);
    if (!holds) return holds.take_error();
    if (!*holds) return damaged("the checksum does not hold");
  }
  auto batch = peek(position_, header->size_bytes());
  if (!batch) return batch.take_error();
  if (batch->size() < header->size_bytes()) return damaged("the file ends in them");
  if (!large && !crc_holds(*batch)) return damaged("the checksum does not hold");
  const BatchAt found{*header, *batch, position_};
  position_ += header->size_bytes();
  last_offset_ = header->last_offset();
  return std::optional<BatchAt>(found);
}

bool SegmentReader::follows(const BatchHeader& header) const {
  return plausible(header) && header.base_offset > last_offset_ &&
         header.last_offset() <= range_.last_offset;
}

bool SegmentReader::fits(const BatchHeader& header, std::uint64_t position) const {
  return follows(header) && header.size_bytes() <= left(position);
}

/// Up to `bytes_wanted` bytes at `position`; fewer where the range or the file ends.
Result<ByteView> SegmentReader::peek(std::uint64_t position, std::size_t bytes_wanted) {
  const std::uint64_t there = left(position);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_wanted, there));
  const bool inside =
      position >= buffer_position_ && position + wanted <= buffer_position_ + buffered_bytes_;
  if (!inside) {
    const auto room =
        static_cast<std::size_t>(std::min<std::uint64_t>(std::max(wanted, kReadAheadBytes), there));
    if (buffer_.size() < room) buffer_.resize(room);
    buffered_bytes_ = 0;
    auto read = read_fully(*file_, position, std::span(buffer_).first(room));
    if (!read) return read.take_error();
    buffer_position_ = position;
    buffered_bytes_ = *read;
  }
  const auto start = static_cast<std::size_t>(position - buffer_position_);
  return ByteView(buffer_).subspan(start, std::min(wanted, buffered_bytes_ - start));
}

/// As crc_holds(), in pieces: a length that lies costs no memory.
Result<bool> SegmentReader::crc_holds_at(const BatchHeader& header, std::uint64_t position) {
  const std::uint64_t end = position + header.size_bytes();
  std::uint64_t at = position + kBatchCrcFrom;
  std::uint32_t crc = 0;
  while (at < end) {
    auto piece =
        peek(at, static_cast<std::size_t>(std::min<std::uint64_t>(end - at, kReadAheadBytes)));
    if (!piece) return piece.take_error();
    if (piece->empty()) return false;
    crc = crc32c(*piece, crc);
    at += piece->size();
  }
  return crc == header.crc;
}

// ---- damage --------------------------------------------------------------------------------

Result<std::uint64_t> SegmentReader::skip_damage() {
  if (left(position_) == 0) return position_;
  auto found = follow_lengths();
  if (!found) return found.take_error();
  if (*found == position_) found = search();
  if (found) position_ = *found;
  return found;
}

/// Goes from header to header by their lengths until a good batch or the end of the range;
/// position() if they lead nowhere. A torn tail is where the range ends.
Result<std::uint64_t> SegmentReader::follow_lengths() {
  std::uint64_t at = position_;
  while (true) {
    auto front = peek(at, kBatchHeaderBytes);
    if (!front) return front.take_error();
    const auto header = read_batch_header(*front);
    if (!header || !plausible(*header)) return position_;
    if (header->size_bytes() > left(at)) {
      return range_.may_be_torn && follows(*header) ? range_.to : position_;
    }
    if (at != position_ && fits(*header, at)) {
      auto holds = crc_holds_at(*header, at);
      if (!holds) return holds.take_error();
      if (*holds) return at;
    }
    at += header->size_bytes();
    if (left(at) == 0) return at;
  }
}

Result<std::uint64_t> SegmentReader::search() {
  std::uint64_t checked_bytes_left = kCheckedBytesMin + kCheckedBytesPerByte * left(position_);
  std::uint64_t at = position_ + 1;
  while (left(at) >= kBatchHeaderBytes) {
    auto front = peek(at, kBatchHeaderBytes);
    if (!front) return front.take_error();
    if (front->size() < kBatchHeaderBytes) break;
    const std::uint64_t buffer_end = buffer_position_ + buffered_bytes_;
    const auto header = find_header(at, buffer_end);
    if (!header) {
      at = buffer_end - (kBatchHeaderBytes - 1);
      continue;
    }
    // A check that leaves the buffer costs reading it again.
    const std::uint64_t cost =
        header->size_bytes() + (header->size_bytes() > buffer_end - at ? kReadAheadBytes : 0);
    if (cost > checked_bytes_left) break;
    checked_bytes_left -= cost;
    auto holds = crc_holds_at(*header, at);
    if (!holds) return holds.take_error();
    if (*holds) return at;
    ++at;
  }
  return range_.to;
}

/// The first header in the buffered bytes [at, end) that could be the next batch's; moves `at`
/// there.
std::optional<BatchHeader> SegmentReader::find_header(std::uint64_t& at, std::uint64_t end) const {
  ByteView bytes = ByteView(buffer_).subspan(static_cast<std::size_t>(at - buffer_position_),
                                             static_cast<std::size_t>(end - at));
  while (bytes.size() >= kBatchHeaderBytes) {
    const std::size_t places = bytes.size() - kBatchHeaderBytes + 1;
    const void* const magic = std::memchr(bytes.data() + kMagicAt, kBatchMagic, places);
    if (magic == nullptr) return std::nullopt;
    const auto skipped =
        static_cast<std::size_t>(static_cast<const std::byte*>(magic) - (bytes.data() + kMagicAt));
    bytes = bytes.subspan(skipped);
    at += skipped;
    const auto header = read_batch_header(bytes);
    if (header && fits(*header, at)) return header;
    bytes = bytes.subspan(1);
    ++at;
  }
  return std::nullopt;
}

}  // namespace lastword::storage
