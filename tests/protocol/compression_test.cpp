// SPDX-License-Identifier: Apache-2.0
#include "protocol/compression.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/support/batches.h"

namespace lastword {
namespace {

constexpr std::size_t kMebibyteSize = 1u << 20;
constexpr Codec kPacking[] = {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

Bytes packed(Codec codec, ByteView in, int level = kDefaultLevel) {
  Bytes out;
  EXPECT_TRUE(compress({codec, level}, in, out));
  return out;
}

/// The unpacked bytes, or the error's text after "error: ".
Result<Bytes> unpacked(Codec codec, ByteView in, std::size_t bytes_max = 64 * kMebibyteSize) {
  Bytes out;
  LW_TRY(decompress(codec, in, bytes_max, out));
  return out;
}

void expect_unpacks(Codec codec, ByteView in, ByteView expected) {
  const auto out = unpacked(codec, in);
  ASSERT_TRUE(out) << codec_name(codec) << ": " << out.error().text;
  EXPECT_TRUE(std::ranges::equal(*out, expected)) << codec_name(codec);
}

void expect_refused(Codec codec, ByteView in, ErrorKind kind) {
  const auto out = unpacked(codec, in);
  ASSERT_FALSE(out) << codec_name(codec);
  EXPECT_EQ(out.error().kind, kind) << out.error().text;
}

/// Half text, half noise: packs, but not to nothing.
Bytes sample(std::size_t size, std::uint32_t seed = 7) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] =
        (i / 64) % 2 == 0 ? static_cast<std::byte>(random()) : static_cast<std::byte>('a' + i % 7);
  }
  return bytes;
}

Bytes raw_snappy(ByteView in) {
  std::string out;
  snappy::Compress(reinterpret_cast<const char*>(in.data()), in.size(), &out);
  return test::to_bytes(out);
}

Bytes xerial(ByteView in, std::size_t block_bytes, std::uint32_t version) {
  Bytes out = test::to_bytes(std::string_view("\x82SNAPPY\0", 8));
  const auto number = [&out](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(std::byte(value >> shift));
  };
  number(version);
  number(~version);
  while (!in.empty()) {
    const auto block = raw_snappy(in.first(std::min(in.size(), block_bytes)));
    in = in.subspan(std::min(in.size(), block_bytes));
    number(static_cast<std::uint32_t>(block.size()));
    test::append(out, block);
  }
  return out;
}

Bytes lz4_frame(ByteView in, const LZ4F_preferences_t& preferences) {
  Bytes out(LZ4F_compressFrameBound(in.size(), &preferences));
  out.resize(LZ4F_compressFrame(out.data(), out.size(), in.data(), in.size(), &preferences));
  return out;
}

/// As streaming producers write it: no content size, flushed in pieces.
Bytes zstd_stream(ByteView in, std::size_t piece_bytes, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log != 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  Bytes out(ZSTD_compressBound(in.size()) + 1024 + in.size() / piece_bytes * 16);
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  for (;;) {
    const ByteView piece = in.first(std::min(in.size(), piece_bytes));
    in = in.subspan(piece.size());
    ZSTD_inBuffer input{piece.data(), piece.size(), 0};
    const auto end = in.empty() ? ZSTD_e_end : ZSTD_e_flush;
    while (ZSTD_compressStream2(context, &output, &input, end) != 0) continue;
    if (in.empty()) break;
  }
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  return out;
}

TEST(Compression, EachCodecGivesBackWhatItPacked) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100},
                                   std::size_t{32768}, std::size_t{65537}, 3 * kMebibyteSize}) {
      const Bytes bytes = sample(size);
      expect_unpacks(codec, packed(codec, bytes), bytes);
    }
  }
}

TEST(Compression, LevelsMakeADifferenceAndOddOnesAreHarmless) {
  const Bytes bytes = sample(200'000);
  EXPECT_LT(packed(Codec::kZstd, bytes, 19).size(), packed(Codec::kZstd, bytes, 1).size());
  EXPECT_LE(packed(Codec::kGzip, bytes, 9).size(), packed(Codec::kGzip, bytes, 1).size());
  for (const Codec codec : kPacking) {
    for (const int level : {-100, -1, 0, 1, 12, 17, 22, 1000}) {
      expect_unpacks(codec, packed(codec, bytes, level), bytes);
    }
  }
}

TEST(Compression, AppendsToWhatIsThere) {
  for (const Codec codec : kPacking) {
    Bytes out = test::to_bytes("head");
    ASSERT_TRUE(compress({codec, kDefaultLevel}, test::view_of("body"), out));
    EXPECT_EQ(test::to_text(ByteView(out).first(4)), "head");
    expect_unpacks(codec, ByteView(out).subspan(4), test::view_of("body"));
  }
}

TEST(Compression, ReadsGzipOfSeveralMembers) {
  const Bytes a = sample(1000, 1);
  const Bytes b = sample(100'000, 2);
  Bytes both = packed(Codec::kGzip, a);
  test::append(both, packed(Codec::kGzip, b));
  Bytes expected = a;
  test::append(expected, b);
  expect_unpacks(Codec::kGzip, both, expected);
}

TEST(Compression, ReadsBothSnappyDialects) {
  const Bytes bytes = sample(150'000);
  expect_unpacks(Codec::kSnappy, raw_snappy(bytes), bytes);
  expect_unpacks(Codec::kSnappy, raw_snappy({}), {});
  for (const std::uint32_t version : {0u, 1u, 0x01000000u, 77u}) {  // kafka-python issue 2483
    expect_unpacks(Codec::kSnappy, xerial(bytes, 32768, version), bytes);
    expect_unpacks(Codec::kSnappy, xerial(bytes, 1000, version), bytes);
  }
  Bytes two = xerial(bytes, 32768, 1);
  test::append(two, xerial(bytes, 32768, 1));
  Bytes twice = bytes;
  test::append(twice, bytes);
  expect_unpacks(Codec::kSnappy, two, twice);
}

TEST(Compression, WritesSnappyInXerialBlocks) {
  const Bytes out = packed(Codec::kSnappy, sample(100'000));
  EXPECT_EQ(test::to_text(ByteView(out).first(8)), std::string_view("\x82SNAPPY\0", 8));
  EXPECT_EQ(test::to_text(ByteView(out).subspan(8, 8)), std::string_view("\0\0\0\1\0\0\0\1", 8));
}

TEST(Compression, ReadsEveryValidLz4Frame) {
  const Bytes bytes = sample(5 * kMebibyteSize);
  for (const auto block : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
    for (const auto mode : {LZ4F_blockLinked, LZ4F_blockIndependent}) {
      for (const bool extras : {false, true}) {
        LZ4F_preferences_t preferences{};
        preferences.frameInfo.blockSizeID = block;
        preferences.frameInfo.blockMode = mode;
        preferences.frameInfo.contentSize = extras ? bytes.size() : 0;
        preferences.frameInfo.contentChecksumFlag =
            extras ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
        preferences.frameInfo.blockChecksumFlag =
            extras ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
        expect_unpacks(Codec::kLz4, lz4_frame(bytes, preferences), bytes);
      }
    }
  }
}

TEST(Compression, ReadsZstdWithoutContentSizeAndOfSeveralFrames) {
  const Bytes bytes = sample(500'000);
  Bytes out = zstd_stream(bytes, 30'000);
  ASSERT_EQ(ZSTD_getFrameContentSize(out.data(), out.size()), ZSTD_CONTENTSIZE_UNKNOWN);
  expect_unpacks(Codec::kZstd, out, bytes);

  test::append(out, packed(Codec::kZstd, bytes));
  Bytes twice = bytes;
  test::append(twice, bytes);
  expect_unpacks(Codec::kZstd, out, twice);
}

TEST(Compression, ReadsZstdWindowsOfEveryLevelAndRefusesLargerOnes) {
  const Bytes bytes = sample(100'000);
  expect_unpacks(Codec::kZstd, zstd_stream(bytes, 50'000, 27), bytes);
  expect_refused(Codec::kZstd, zstd_stream(bytes, 50'000, 28), ErrorKind::kCorruptBatch);
}

TEST(Compression, RefusesEveryTruncation) {
  const Bytes bytes = sample(300);
  for (const Codec codec : kPacking) {
    const Bytes whole = packed(codec, bytes);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A xerial stream may end after any of its blocks; here that is its bare header, or nothing
      // where the magic itself is cut and the rest is a broken raw block.
      if (codec == Codec::kSnappy && size == 16) continue;
      const auto out = unpacked(codec, ByteView(whole).first(size));
      ASSERT_FALSE(out) << codec_name(codec) << " at " << size;
      EXPECT_EQ(out.error().kind, ErrorKind::kCorruptBatch);
    }
  }
}

TEST(Compression, RefusesWhatFollowsTheEnd) {
  for (const Codec codec : kPacking) {
    Bytes out = packed(codec, sample(300));
    test::append(out, test::view_of("\x01junk"));
    expect_refused(codec, out, ErrorKind::kCorruptBatch);
  }
}

TEST(Compression, RefusesAnUnknownCodec) {
  expect_refused(static_cast<Codec>(5), sample(10), ErrorKind::kUnsupportedCompression);
  Bytes out;
  const auto result = compress({static_cast<Codec>(7), kDefaultLevel}, sample(10), out);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUnsupportedCompression);
}

TEST(Compression, TheLimitIsExact) {
  const Bytes bytes = sample(100'000);
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    const Bytes in = packed(codec, bytes);
    EXPECT_TRUE(unpacked(codec, in, bytes.size())) << codec_name(codec);
    const auto out = unpacked(codec, in, bytes.size() - 1);
    ASSERT_FALSE(out) << codec_name(codec);
    EXPECT_EQ(out.error().kind, ErrorKind::kInvalidRecord);
    EXPECT_NE(out.error().text.find("limits.decompressed_bytes"), std::string::npos);
  }
}

/// A gzip of 1 GiB of zeros, made without ever having them.
Bytes gzip_bomb() {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes zeros(kMebibyteSize);
  Bytes out(8 * kMebibyteSize);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  for (int i = 0; i < 1024; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
    stream.avail_in = static_cast<uInt>(zeros.size());
    EXPECT_EQ(deflate(&stream, i == 1023 ? Z_FINISH : Z_NO_FLUSH), i == 1023 ? Z_STREAM_END : Z_OK);
  }
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Compression, ABombIsStoppedAtTheLimit) {
  const Bytes bomb = gzip_bomb();
  EXPECT_LT(bomb.size(), 5 * kMebibyteSize);
  Bytes small_out;
  ASSERT_FALSE(decompress(Codec::kGzip, bomb, kMebibyteSize, small_out));
  EXPECT_LE(small_out.capacity(), kMebibyteSize + 1);

  Bytes large_out;
  ASSERT_FALSE(decompress(Codec::kGzip, bomb, 64 * kMebibyteSize, large_out));
  EXPECT_LE(large_out.capacity(), kLargeOutputBytes) << "memory is given back";

  const Bytes zeros(64 * kMebibyteSize);
  for (const Codec codec : kPacking) {
    Bytes out;
    const auto result = decompress(codec, packed(codec, zeros), 100'000, out);
    ASSERT_FALSE(result) << codec_name(codec);
    EXPECT_EQ(result.error().kind, ErrorKind::kInvalidRecord) << codec_name(codec);
    EXPECT_LE(out.capacity(), 100'001u) << codec_name(codec);
  }
}

TEST(Compression, AShortInputCannotClaimAHugeOutput) {
  // A raw snappy block that says 1 GiB, and a zstd frame that does.
  expect_refused(Codec::kSnappy, test::view_of(std::string_view("\x80\x80\x80\x80\x04\x00x", 7)),
                 ErrorKind::kCorruptBatch);
  Bytes out;
  const Bytes zeros(100 * kMebibyteSize);
  ASSERT_FALSE(decompress(Codec::kZstd, ByteView(packed(Codec::kZstd, zeros)).first(20),
                          64 * kMebibyteSize, out));
  EXPECT_LE(out.capacity(), kLargeOutputBytes);
}

TEST(Compression, LargeOutputsOfOneLineExistOneAtATime) {
  const Bytes in = packed(Codec::kZstd, Bytes(kLargeOutputBytes + 1));
  std::atomic<int> held = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        LargeOutputTurn turn(LargeOutputTurn::Line::kRead);
        Bytes out;
        EXPECT_TRUE(decompress(Codec::kZstd, in, {64 * kMebibyteSize, &turn}, out));
        most = std::max(most.load(), ++held);
        std::this_thread::yield();
        --held;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(Compression, ReusesStorageOfTheOutput) {
  Bytes out;
  const Bytes in = packed(Codec::kLz4, sample(100'000));
  ASSERT_TRUE(decompress(Codec::kLz4, in, kMebibyteSize, out));
  const auto* const data = out.data();
  ASSERT_TRUE(decompress(Codec::kLz4, in, kMebibyteSize, out));
  EXPECT_EQ(out.data(), data);
  ASSERT_TRUE(decompress(Codec::kLz4, packed(Codec::kLz4, sample(10)), kMebibyteSize, out));
  EXPECT_EQ(out, sample(10));
}

}  // namespace
}  // namespace lastword
