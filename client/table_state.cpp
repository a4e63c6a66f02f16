// SPDX-License-Identifier: Apache-2.0
#include "client/table_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>

#include "protocol/crc32c.h"

namespace lastword::client {

namespace {

constexpr std::uint32_t kMagic = 0x4c575442;  // "LWTB"
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error damaged() { return {ErrorKind::kDamaged, "is damaged: its checksum does not hold"}; }

Error io_error(const std::string& what, const std::string& path) {
  return {ErrorKind::kStorage, "cannot " + what + " " + path + ": " + std::strerror(errno)};
}

void read_table(Reader& in, Table& table) {
  std::uint64_t count = 0;
  in.number(count);
  for (; count > 0 && !in.failed(); --count) {
    ByteView key;
    ByteView value;
    in.blob(key, false);
    in.blob(value, false);
    table.emplace(text_of(key), text_of(value));
  }
}

class File {
 public:
  File(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool open() const { return descriptor_ >= 0; }
  bool sync() const { return ::fsync(descriptor_) == 0; }

  bool write(ByteView bytes) const {
    while (!bytes.empty()) {
      const auto wrote = ::write(descriptor_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
    return true;
  }
  bool read(Bytes& bytes) const {
    constexpr std::size_t kStep = 1 << 20;
    for (;;) {
      const std::size_t held = bytes.size();
      bytes.resize(held + kStep);
      const auto got = ::read(descriptor_, bytes.data() + held, kStep);
      bytes.resize(held + (got > 0 ? static_cast<std::size_t>(got) : 0));
      if (got == 0) return true;
      if (got < 0 && errno != EINTR) return false;
    }
  }

 private:
  const int descriptor_;
};

}  // namespace

Bytes encode_table_state(const TableState& state) {
  Writer out;
  out.number(kMagic);
  out.number(kVersion);
  out.blob(view_of(state.topic), false);
  out.bytes(state.topic_id.bytes);
  out.number(static_cast<std::uint32_t>(state.partitions.size()));
  for (const TableState::Partition& partition : state.partitions) {
    out.number(partition.partition);
    out.number(partition.position);
    out.number(partition.leader_epoch);
    out.number(partition.removed_tombstone_mark);
    out.number(static_cast<std::uint64_t>(partition.table.size()));
    for (const auto& [key, value] : partition.table) {
      out.blob(view_of(key), false);
      out.blob(view_of(value), false);
    }
  }
  Bytes bytes = out.take();
  Writer checksum;
  checksum.number(crc32c(bytes));
  const Bytes end = checksum.take();
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

Result<TableState> decode_table_state(ByteView bytes) {
  if (bytes.size() < kChecksumBytes) return damaged();
  std::uint32_t checksum = 0;
  Reader(bytes.last(kChecksumBytes)).number(checksum);
  const ByteView body = bytes.first(bytes.size() - kChecksumBytes);
  if (crc32c(body) != checksum) return damaged();
  Reader in(body);
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  in.number(magic);
  in.number(version);
  if (magic != kMagic) return Error{ErrorKind::kDamaged, "is not the state of a table"};
  if (version != kVersion) {
    return Error{ErrorKind::kDamaged,
                 "has format version " + std::to_string(version) + "; this program knows 1"};
  }
  TableState state;
  ByteView topic;
  in.blob(topic, false);
  state.topic = text_of(topic);
  const ByteView id = in.bytes(state.topic_id.bytes.size());
  if (!in.failed()) std::memcpy(state.topic_id.bytes.data(), id.data(), id.size());
  std::uint32_t partitions = 0;
  in.number(partitions);
  for (; partitions > 0 && !in.failed(); --partitions) {
    auto& partition = state.partitions.emplace_back();
    in.number(partition.partition);
    in.number(partition.position);
    in.number(partition.leader_epoch);
    in.number(partition.removed_tombstone_mark);
    read_table(in, partition.table);
  }
  if (!in.done()) return damaged();
  return state;
}

Result<std::optional<TableState>> load_table_state(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.open()) {
    if (errno == ENOENT) return std::optional<TableState>();
    return io_error("read", path);
  }
  Bytes bytes;
  if (!file.read(bytes)) return io_error("read", path);
  auto state = decode_table_state(bytes);
  if (!state) {
    return Error{ErrorKind::kDamaged, path + " " + state.error().text +
                                          "; remove it to build the table from the log start"};
  }
  return std::optional<TableState>(*std::move(state));
}

Result<> save_table_state(const std::string& path, const TableState& state) {
  const std::string beside = path + ".new";
  {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.open() || !file.write(encode_table_state(state)) || !file.sync()) {
      return io_error("write", beside);
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return io_error("replace", path);
  const std::size_t slash = path.rfind('/');
  const File folder(slash == std::string::npos ? "." : path.substr(0, slash + 1),
                    O_RDONLY | O_DIRECTORY);
  if (!folder.open() || !folder.sync()) return io_error("sync the folder of", path);
  return {};
}

}  // namespace lastword::client
