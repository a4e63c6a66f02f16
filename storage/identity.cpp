// SPDX-License-Identifier: Apache-2.0
#include "storage/identity.h"

#include <sodium.h>

#include "protocol/check.h"
#include "storage/checked_file.h"
#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr CheckedFormat kFormat{{'L', 'W', 'I', 'D'}, 1, "identity"};
constexpr std::size_t kIdentityBytesMax = 64 * 1024;

constexpr std::uint8_t kStoppedCleanly = 1;
constexpr std::uint8_t kRanUnderOs = 2;

Error damaged(const std::string& reason) { return {ErrorKind::kDamaged, "identity " + reason}; }

}  // namespace

std::array<std::byte, 16> random_id() {
  LW_CHECK(sodium_init() >= 0);  // fails only where the system has no random numbers at all
  std::array<std::byte, 16> id{};
  while (id == std::array<std::byte, 16>{}) randombytes_buf(id.data(), id.size());
  return id;
}

Identity make_identity() { return Identity{.cluster_id = random_id(), .hash_key = random_id()}; }

Bytes encode(const Identity& identity) {
  Writer body;
  body.bytes(identity.cluster_id);
  body.bytes(identity.hash_key);
  body.number(identity.next_producer_id);
  body.number(static_cast<std::uint8_t>((identity.stopped_cleanly ? kStoppedCleanly : 0) |
                                        (identity.ran_under_os ? kRanUnderOs : 0)));
  body.blob(identity.boot_id, false);
  return seal_file(kFormat, body.take());
}

Result<Identity> decode_identity(ByteView bytes) {
  auto body = open_sealed_file(kFormat, bytes);
  if (!body) return body.take_error();
  Identity identity;
  Reader in(*body);
  for (std::byte& b : identity.cluster_id) in.number(b);
  for (std::byte& b : identity.hash_key) in.number(b);
  in.number(identity.next_producer_id);
  std::uint8_t flags = 0;
  in.number(flags);
  in.blob(identity.boot_id, false);
  if (in.failed()) return damaged(std::string(in.reason()));
  if (!in.done()) return damaged("has bytes left over");
  if ((flags & ~(kStoppedCleanly | kRanUnderOs)) != 0) return damaged("has unknown flags");
  if (identity.next_producer_id < 1) return damaged("has an impossible producer id");
  identity.stopped_cleanly = (flags & kStoppedCleanly) != 0;
  identity.ran_under_os = (flags & kRanUnderOs) != 0;
  return identity;
}

Result<Identity> load_identity(FileSystem& files, const std::string& directory) {
  const std::string path = path_in(directory, kIdentityName);
  auto bytes = read_whole(files, path, kIdentityBytesMax);
  if (!bytes) return bytes.take_error();
  auto identity = decode_identity(*bytes);
  if (identity) return identity;
  return Error{ErrorKind::kDamaged,
               path + ": " + identity.error().text +
                   "; restore the file from a backup, or remove it: then the directory gets a new "
                   "cluster id, and nothing else is lost"};
}

Result<> save_identity(FileSystem& files, const std::string& directory, const Identity& identity) {
  return replace_whole(files, path_in(directory, kIdentityName), encode(identity));
}

}  // namespace lastword::storage
