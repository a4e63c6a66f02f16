// SPDX-License-Identifier: Apache-2.0
#include "protocol/compression.h"

#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

namespace lastword {
namespace {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

constexpr std::size_t kFirstRoomBytes = 64u << 10;
constexpr std::size_t kReserveBytesMax = 256u << 20;
constexpr std::size_t kContextKeptBytes = 1u << 20;  // zstd's, per thread
constexpr int kZstdWindowLogMax = 27;                // 128 MiB: the most that zstd's levels ask for
constexpr std::size_t kSnappyExpansionMax = 64;      // a 3-byte copy makes 64 bytes: 22 would do

constexpr std::array kXerialMagic{std::byte{0x82}, std::byte{'S'}, std::byte{'N'}, std::byte{'A'},
                                  std::byte{'P'},  std::byte{'P'}, std::byte{'Y'}, std::byte{0}};
constexpr std::size_t kXerialHeaderBytes = 16;  // magic, version, oldest compatible version
constexpr std::size_t kXerialBlockBytes = 32u << 10;

Error corrupt(Codec codec, std::string_view why) {
  return {ErrorKind::kCorruptBatch,
          "records do not unpack as " + std::string(codec_name(codec)) + ": " + std::string(why)};
}

Error unpackable(Codec codec, std::string_view why) {
  return {ErrorKind::kInvalidRecord,
          "records do not pack as " + std::string(codec_name(codec)) + ": " + std::string(why)};
}

/// A vector that grows in step with what really comes out, never by more than one byte beyond the
/// limit: that byte tells an output that is too large from one that just fits.
class Output {
 public:
  Output(Bytes& bytes, const OutputLimit& limit)
      : bytes_(bytes), max_(std::min(limit.bytes_max, bytes.max_size() / 2)), turn_(limit.turn) {
    if (bytes_.size() > kLargeOutputBytes) bytes_.resize(kLargeOutputBytes);
  }

  /// Free space, at least one byte unless too_large().
  std::span<std::byte> room() {
    if (used_ == bytes_.size()) make_room(std::max(kFirstRoomBytes, 2 * used_));
    return std::span(bytes_).subspan(used_);
  }
  /// Makes the whole size at once where it is known, as far as the limit goes.
  void make_room(std::size_t size) {
    size = std::min(size, max_ + 1);
    if (size <= bytes_.size()) return;
    std::size_t capacity = size;
    if (size > kLargeOutputBytes) {
      turn().take();
      // Pages that are not written cost nothing; growing in place saves a second copy.
      capacity = std::max(size, std::min(max_ + 1, kReserveBytesMax));
    }
    bytes_.reserve(capacity);
    bytes_.resize(size);
  }
  void wrote(std::size_t count) { used_ += count; }
  std::size_t used() const { return used_; }
  bool fits(std::size_t more) const { return used_ <= max_ && more <= max_ - used_; }
  bool too_large() const { return used_ > max_; }
  void finish() { bytes_.resize(used_); }

  Error too_large_error(Codec codec) const {
    return {ErrorKind::kInvalidRecord,
            "records unpack (" + std::string(codec_name(codec)) + ") to more than " +
                std::to_string(max_) +
                " bytes: send smaller batches or raise limits.decompressed_bytes"};
  }

 private:
  LargeOutputTurn& turn() { return turn_ != nullptr ? *turn_ : own_turn_; }

  Bytes& bytes_;
  std::size_t max_;
  LargeOutputTurn* turn_;
  LargeOutputTurn own_turn_{LargeOutputTurn::Line::kAppend};
  std::size_t used_ = 0;
};

// ---- gzip ----------------------------------------------------------------------------------

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the gzip wrapper

struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream); }
};

Bytef* zlib_input(ByteView in) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));  // only read
}

Result<> unpack_gzip(ByteView in, Output& out) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (!inflater.ready || in.size() > UINT32_MAX) return corrupt(Codec::kGzip, "out of memory");
  stream.next_in = zlib_input(in);
  stream.avail_in = static_cast<uInt>(in.size());
  for (;;) {
    const auto room = out.room();
    const auto offered = static_cast<uInt>(std::min<std::size_t>(room.size(), UINT32_MAX));
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = offered;
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.wrote(offered - stream.avail_out);
    if (out.too_large()) return out.too_large_error(Codec::kGzip);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return {};
      inflateReset(&stream);  // another member follows
    } else if (code != Z_OK) {
      return corrupt(Codec::kGzip, code == Z_BUF_ERROR     ? "cut short"
                                   : stream.msg != nullptr ? stream.msg
                                                           : "bad data");
    }
  }
}

Result<> pack_gzip(int level, ByteView in, Bytes& out) {
  z_stream stream{};
  if (level == kDefaultLevel) level = Z_DEFAULT_COMPRESSION;
  if (in.size() > UINT32_MAX / 2 || deflateInit2(&stream, std::clamp(level, -1, 9), Z_DEFLATED,
                                                 kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return unpackable(Codec::kGzip, "too large, or out of memory");
  }
  const std::size_t before = out.size();
  const auto bound = deflateBound(&stream, static_cast<uLong>(in.size()));
  out.resize(before + bound);
  stream.next_in = zlib_input(in);
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
  stream.avail_out = static_cast<uInt>(bound);
  const int code = deflate(&stream, Z_FINISH);
  out.resize(before + (code == Z_STREAM_END ? stream.total_out : 0));
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return unpackable(Codec::kGzip, "the library failed");
  return {};
}

// ---- snappy --------------------------------------------------------------------------------

const char* snappy_input(ByteView in) { return reinterpret_cast<const char*>(in.data()); }

Result<> unpack_snappy_block(ByteView in, Output& out) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(snappy_input(in), in.size(), &size) ||
      size / kSnappyExpansionMax > in.size()) {
    return corrupt(Codec::kSnappy, "bad length");
  }
  if (!out.fits(size)) return out.too_large_error(Codec::kSnappy);
  out.make_room(out.used() + size);
  // Room for nothing may be a null pointer, which the library does not like.
  char none = 0;
  char* target = size == 0 ? &none : reinterpret_cast<char*>(out.room().data());
  if (!snappy::RawUncompress(snappy_input(in), in.size(), target)) {
    return corrupt(Codec::kSnappy, "bad block");
  }
  out.wrote(size);
  return {};
}

bool starts_xerial(ByteView in) {
  return in.size() >= kXerialHeaderBytes &&
         std::equal(kXerialMagic.begin(), kXerialMagic.end(), in.begin());
}

std::uint32_t load_u32(ByteView in) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(in[i]);
  return value;
}

/// No raw block starts with the magic: its first element would copy from before the start.
Result<> unpack_snappy(ByteView in, Output& out) {
  if (!starts_xerial(in)) return unpack_snappy_block(in, out);
  while (!in.empty()) {
    if (starts_xerial(in)) {  // streams may follow one another; versions are not looked at
      in = in.subspan(kXerialHeaderBytes);
      continue;
    }
    if (in.size() < 4) return corrupt(Codec::kSnappy, "cut short");
    const std::size_t size = load_u32(in);
    in = in.subspan(4);
    if (size > in.size()) return corrupt(Codec::kSnappy, "a block runs past the end");
    LW_TRY(unpack_snappy_block(in.first(size), out));
    in = in.subspan(size);
  }
  return {};
}

void store_u32(std::byte* at, std::size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<std::byte>(value >> shift);
}

Result<> pack_snappy(ByteView in, Bytes& out) {
  std::size_t end = out.size() + kXerialHeaderBytes;
  out.resize(end);
  std::ranges::copy(kXerialMagic, out.end() - kXerialHeaderBytes);
  store_u32(out.data() + end - 8, 1);
  store_u32(out.data() + end - 4, 1);
  while (!in.empty()) {
    const auto block = in.first(std::min(in.size(), kXerialBlockBytes));
    in = in.subspan(block.size());
    out.resize(end + 4 + snappy::MaxCompressedLength(block.size()));
    std::size_t size = 0;
    snappy::RawCompress(snappy_input(block), block.size(),
                        reinterpret_cast<char*>(out.data() + end + 4), &size);
    store_u32(out.data() + end, size);
    end += 4 + size;
  }
  out.resize(end);
  return {};
}

// ---- lz4 -----------------------------------------------------------------------------------

struct FreeLz4 {
  void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};

Result<> unpack_lz4(ByteView in, Output& out) {
  LZ4F_dctx* created = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&created, LZ4F_VERSION))) {
    return corrupt(Codec::kLz4, "out of memory");
  }
  const std::unique_ptr<LZ4F_dctx, FreeLz4> context(created);
  std::size_t wanted = 1;  // 0 at the end of a frame
  while (!in.empty() || wanted != 0) {
    const auto room = out.room();
    std::size_t produced = room.size();
    std::size_t consumed = in.size();
    wanted = LZ4F_decompress(context.get(), room.data(), &produced, in.data(), &consumed, nullptr);
    if (LZ4F_isError(wanted)) return corrupt(Codec::kLz4, LZ4F_getErrorName(wanted));
    out.wrote(produced);
    if (out.too_large()) return out.too_large_error(Codec::kLz4);
    if (produced == 0 && consumed == 0) return corrupt(Codec::kLz4, "cut short");
    in = in.subspan(consumed);
  }
  return {};
}

Result<> pack_lz4(int level, ByteView in, Bytes& out) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.compressionLevel = level == kDefaultLevel ? 0 : level;
  const std::size_t before = out.size();
  out.resize(before + LZ4F_compressFrameBound(in.size(), &preferences));
  const std::size_t size = LZ4F_compressFrame(out.data() + before, out.size() - before, in.data(),
                                              in.size(), &preferences);
  out.resize(before + (LZ4F_isError(size) ? 0 : size));
  if (LZ4F_isError(size)) return unpackable(Codec::kLz4, LZ4F_getErrorName(size));
  return {};
}

// ---- zstd ----------------------------------------------------------------------------------

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using ZstdContext = std::unique_ptr<ZSTD_DCtx, FreeZstd>;

Result<> unpack_zstd_with(ZSTD_DCtx* context, ByteView in, Output& out) {
  // With all of the frame at hand and room for all of its content the library needs no window.
  const auto content = ZSTD_getFrameContentSize(in.data(), in.size());
  if (content <= kLargeOutputBytes) out.make_room(static_cast<std::size_t>(content) + 1);
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  std::size_t wanted = 1;  // 0 at the end of a frame
  while (input.pos < input.size || wanted != 0) {
    const auto room = out.room();
    ZSTD_outBuffer output{room.data(), room.size(), 0};
    const std::size_t before = input.pos;
    wanted = ZSTD_decompressStream(context, &output, &input);
    if (ZSTD_isError(wanted)) return corrupt(Codec::kZstd, ZSTD_getErrorName(wanted));
    out.wrote(output.pos);
    if (out.too_large()) return out.too_large_error(Codec::kZstd);
    if (output.pos == 0 && input.pos == before) return corrupt(Codec::kZstd, "cut short");
  }
  return {};
}

Result<> unpack_zstd(ByteView in, Output& out) {
  thread_local ZstdContext kept;
  if (!kept) {
    kept.reset(ZSTD_createDCtx());
    if (!kept) return corrupt(Codec::kZstd, "out of memory");
    ZSTD_DCtx_setParameter(kept.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax);
  }
  auto result = unpack_zstd_with(kept.get(), in, out);
  ZSTD_DCtx_reset(kept.get(), ZSTD_reset_session_only);
  if (ZSTD_sizeof_DCtx(kept.get()) > kContextKeptBytes) kept.reset();
  return result;
}

Result<> pack_zstd(int level, ByteView in, Bytes& out) {
  if (level == kDefaultLevel) level = ZSTD_defaultCLevel();
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(in.size()));
  const std::size_t size =
      ZSTD_compress(out.data() + before, out.size() - before, in.data(), in.size(), level);
  out.resize(before + (ZSTD_isError(size) ? 0 : size));
  if (ZSTD_isError(size)) return unpackable(Codec::kZstd, ZSTD_getErrorName(size));
  return {};
}

Result<> copy(ByteView in, Output& out) {
  if (!out.fits(in.size())) return out.too_large_error(Codec::kNone);
  if (in.empty()) return {};
  out.make_room(in.size());
  std::memcpy(out.room().data(), in.data(), in.size());
  out.wrote(in.size());
  return {};
}

Error unknown(Codec codec) {
  return {ErrorKind::kUnsupportedCompression,
          "compression codec " + std::to_string(static_cast<int>(codec)) +
              " is not known: use none, gzip, snappy, lz4 or zstd"};
}

Result<> unpack(Codec codec, ByteView in, Output& out) {
  switch (codec) {
    case Codec::kNone:
      return copy(in, out);
    case Codec::kGzip:
      return unpack_gzip(in, out);
    case Codec::kSnappy:
      return unpack_snappy(in, out);
    case Codec::kLz4:
      return unpack_lz4(in, out);
    case Codec::kZstd:
      return unpack_zstd(in, out);
  }
  return unknown(codec);
}

std::recursive_mutex& line_mutex(LargeOutputTurn::Line line) {
  static std::recursive_mutex append;
  static std::recursive_mutex read;
  return line == LargeOutputTurn::Line::kAppend ? append : read;
}

}  // namespace

std::string_view codec_name(Codec codec) {
  constexpr std::array<std::string_view, 5> kNames{"none", "gzip", "snappy", "lz4", "zstd"};
  const auto index = static_cast<std::size_t>(codec);
  return index < kNames.size() ? kNames[index] : "unknown";
}

LargeOutputTurn::LargeOutputTurn(Line line) : lock_(line_mutex(line), std::defer_lock) {}

Result<> decompress(Codec codec, std::span<const std::byte> in, const OutputLimit& limit,
                    std::vector<std::byte>& out) {
  Output output(out, limit);
  auto result = unpack(codec, in, output);
  if (!result) {
    out.clear();
    if (out.capacity() > kLargeOutputBytes) out.shrink_to_fit();
    return result;
  }
  output.finish();
  return {};
}

Result<> compress(CompressionChoice choice, std::span<const std::byte> in,
                  std::vector<std::byte>& out) {
  switch (choice.codec) {
    case Codec::kNone:
      out.insert(out.end(), in.begin(), in.end());
      return {};
    case Codec::kGzip:
      return pack_gzip(choice.level, in, out);
    case Codec::kSnappy:
      return pack_snappy(in, out);
    case Codec::kLz4:
      return pack_lz4(choice.level, in, out);
    case Codec::kZstd:
      return pack_zstd(choice.level, in, out);
  }
  return unknown(choice.codec);
}

}  // namespace lastword
