// SPDX-License-Identifier: Apache-2.0
#include "storage/checked_file.h"

#include <limits>
#include <string>

#include "protocol/check.h"
#include "protocol/crc32c.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kFrontBytes = 10;
constexpr std::size_t kChecksumBytes = 4;

}  // namespace

Bytes seal_file(const CheckedFormat& format, ByteView body) {
  LW_CHECK(body.size() <= std::numeric_limits<std::uint32_t>::max());
  Writer front;
  for (const char letter : format.magic) front.number(static_cast<std::uint8_t>(letter));
  front.number(format.version);
  front.number(static_cast<std::uint32_t>(body.size()));
  Bytes file = front.take();
  file.reserve(file.size() + body.size() + kChecksumBytes);
  file.insert(file.end(), body.begin(), body.end());
  Writer back;
  back.number(crc32c(file));
  const Bytes checksum = back.take();
  file.insert(file.end(), checksum.begin(), checksum.end());
  return file;
}

Result<ByteView> open_sealed_file(const CheckedFormat& format, ByteView bytes) {
  const auto damaged = [&format](const std::string& reason) {
    return Error{ErrorKind::kDamaged, std::string(format.name) + " " + reason};
  };
  if (bytes.size() < kFrontBytes + kChecksumBytes) return damaged("is too short");
  Reader in(bytes);
  for (const char letter : format.magic) {
    std::uint8_t found = 0;
    in.number(found);
    if (found != static_cast<std::uint8_t>(letter)) return damaged("is of another kind");
  }
  std::uint16_t version = 0;
  std::uint32_t length_bytes = 0;
  in.number(version);
  in.number(length_bytes);
  if (length_bytes != bytes.size() - kFrontBytes - kChecksumBytes) {
    return damaged("has another length than it says");
  }
  const ByteView body = in.bytes(length_bytes);
  std::uint32_t checksum = 0;
  in.number(checksum);
  if (checksum != crc32c(bytes.first(bytes.size() - kChecksumBytes))) {
    return damaged("does not match its checksum");
  }
  // Behind the checksum, so that a flipped bit is not called a newer version.
  if (version != format.version) {
    return damaged("has format version " + std::to_string(version) + ", this program knows " +
                   std::to_string(format.version));
  }
  return body;
}

}  // namespace lastword::storage
