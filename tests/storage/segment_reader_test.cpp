// SPDX-License-Identifier: Apache-2.0
// Good batches are read, all of them; damage is named, and costs neither memory nor what is behind.
#include "storage/segment_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>

#include "tests/storage/test_environment.h"
#include "tests/support/batches.h"

namespace lastword::storage {
namespace {

using test::batch;
using test::BytesSource;

Bytes batch_at(Offset offset, std::size_t value_bytes = 50) {
  return batch({.base_offset = offset, .records = {{"k", std::string(value_bytes, 'v')}}});
}

struct Log {
  Bytes bytes{};
  std::vector<std::uint64_t> positions{};  // of each batch, and the end

  static Log of(std::int64_t batches, std::size_t value_bytes = 50) {
    Log log;
    for (Offset offset = 0; offset < batches; ++offset) log.add(batch_at(offset, value_bytes));
    return log;
  }
  void add(const Bytes& more) {
    if (positions.empty()) positions.push_back(0);
    test::append(bytes, more);
    positions.push_back(bytes.size());
  }
  void damage(std::uint64_t position) { bytes[position] ^= std::byte{0xff}; }
};

/// What a reader found: offsets of batches, and damaged ranges.
struct Found {
  std::vector<Offset> offsets{};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> damage{};
  std::size_t buffer_bytes = 0;
  std::size_t read_bytes = 0;
};

Found read_all(const Bytes& bytes, std::optional<SegmentReader::Range> range = {}) {
  const auto source = std::make_shared<BytesSource>(bytes);
  Bytes buffer;
  SegmentReader reader(source, range.value_or(SegmentReader::Range{0, bytes.size()}), buffer);
  Found found;
  while (true) {
    const auto next = reader.next();
    if (next && !*next) break;
    if (next) {
      found.offsets.push_back((**next).header.base_offset);
      EXPECT_EQ(0, std::memcmp((**next).bytes.data(), bytes.data() + (**next).position,
                               (**next).bytes.size()));
      continue;
    }
    EXPECT_EQ(next.error().kind, ErrorKind::kDamaged);
    const std::uint64_t from = reader.position();
    const auto to = reader.skip_damage();
    EXPECT_TRUE(to);
    EXPECT_GT(*to, from);
    found.damage.emplace_back(from, *to);
  }
  found.buffer_bytes = buffer.capacity();
  found.read_bytes = source->read_bytes();
  return found;
}

std::vector<Offset> offsets(Offset from, Offset to) {
  std::vector<Offset> all;
  for (; from < to; ++from) all.push_back(from);
  return all;
}

TEST(SegmentReader, ReadsEveryBatchOnceAndInOrder) {
  const Log log = Log::of(20000);
  const Found found = read_all(log.bytes);
  EXPECT_EQ(found.offsets, offsets(0, 20000));
  EXPECT_TRUE(found.damage.empty());
  EXPECT_LT(found.read_bytes, log.bytes.size() * 11 / 10);
}

TEST(SegmentReader, ReadsNothingOfAnEmptyRange) {
  EXPECT_TRUE(read_all({}).offsets.empty());
  const Log log = Log::of(3);
  EXPECT_TRUE(read_all(log.bytes, SegmentReader::Range{61, 61}).offsets.empty());
}

TEST(SegmentReader, ReadsOnlyItsRange) {
  const Log log = Log::of(10);
  const Found found = read_all(log.bytes, SegmentReader::Range{log.positions[2], log.positions[7]});
  EXPECT_EQ(found.offsets, offsets(2, 7));
}

TEST(SegmentReader, ReadsBatchesLargerThanItsReadAhead) {
  Log log;
  log.add(batch_at(0, 3 << 20));
  log.add(batch_at(1, 10));
  log.add(batch_at(2, 700 << 10));
  EXPECT_EQ(read_all(log.bytes).offsets, offsets(0, 3));
}

TEST(SegmentReader, SaysWhereTheDamageIsAndWhy) {
  Log log = Log::of(3);
  log.damage(log.positions[1] + 70);
  const auto source = std::make_shared<BytesSource>(log.bytes);
  Bytes buffer;
  SegmentReader reader(source, {0, log.bytes.size()}, buffer);
  ASSERT_TRUE(reader.next());
  const auto damaged = reader.next();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().text, "the bytes at position " + std::to_string(log.positions[1]) +
                                      " are no batch: the checksum does not hold");
  EXPECT_EQ(reader.position(), log.positions[1]);
  EXPECT_FALSE(reader.next()) << "and stays there";
}

TEST(SegmentReader, LosesOnlyTheBatchWithADamagedByte) {
  const Log good = Log::of(5);
  // Leader epoch and the high bytes of a base offset may be anything: the CRC does not cover them.
  for (std::uint64_t at = good.positions[2]; at < good.positions[3]; ++at) {
    if (at < good.positions[2] + 16 && at >= good.positions[2] + 12) continue;
    Log log = good;
    log.damage(at);
    const Found found = read_all(log.bytes, SegmentReader::Range{0, log.bytes.size(), 0, 4});
    ASSERT_EQ(found.offsets, (std::vector<Offset>{0, 1, 3, 4})) << at - good.positions[2];
    ASSERT_EQ(found.damage.size(), 1u);
    EXPECT_EQ(found.damage[0], std::pair(good.positions[2], good.positions[3]));
  }
}

TEST(SegmentReader, CallsOffsetsDamageThatDoNotAscend) {
  Log log;
  for (const Offset offset : {0, 5, 3, 5, 6}) log.add(batch_at(offset));
  const Found found = read_all(log.bytes);
  EXPECT_EQ(found.offsets, (std::vector<Offset>{0, 5, 6}));
  EXPECT_EQ(found.damage.size(), 1u);
}

TEST(SegmentReader, CallsOffsetsDamageThatTheSegmentCannotHold) {
  Log log;
  for (const Offset offset : {99L, 100L, 101L, (1L << 31) + 100, 102L}) log.add(batch_at(offset));
  const Found found = read_all(log.bytes, SegmentReader::Range::of_segment(100, log.bytes.size()));
  EXPECT_EQ(found.offsets, (std::vector<Offset>{100, 101, 102}));
  EXPECT_EQ(found.damage.size(), 2u);
}

TEST(SegmentReader, KnowsEverySegmentsOffsets) {
  constexpr Offset kLast = std::numeric_limits<Offset>::max();
  EXPECT_EQ(SegmentReader::Range::of_segment(7, 1).last_offset, 7 + 2147483647LL);
  EXPECT_EQ(SegmentReader::Range::of_segment(kLast - 5, 1).last_offset, kLast);
}

TEST(SegmentReader, EndsWithADamagedRangeAtATornTail) {
  const Log log = Log::of(3);
  for (std::uint64_t cut = log.positions[2] + 1; cut < log.positions[3]; ++cut) {
    const Found found =
        read_all(Bytes(log.bytes.begin(), log.bytes.begin() + static_cast<std::ptrdiff_t>(cut)));
    ASSERT_EQ(found.offsets, offsets(0, 2));
    ASSERT_EQ(found.damage.size(), 1u);
    EXPECT_EQ(found.damage[0], std::pair(log.positions[2], cut));
  }
}

TEST(SegmentReader, TakesAFileThatIsShorterThanItsRangeForDamaged) {
  const Log log = Log::of(3);
  const Found found = read_all(log.bytes, SegmentReader::Range{0, log.bytes.size() + 1000});
  EXPECT_EQ(found.offsets, offsets(0, 3));
  EXPECT_EQ(found.damage.size(), 1u);
}

TEST(SegmentReader, FindsBatchesBehindZerosAndJunk) {
  std::mt19937_64 random(5);
  for (const std::size_t junk_bytes : {1u, 60u, 61u, 4096u, 600u << 10, 5u << 20}) {
    for (const bool zeros : {true, false}) {
      SCOPED_TRACE(testing::Message() << "seed 5, " << junk_bytes << (zeros ? " zeros" : " bytes"));
      Log log = Log::of(2);
      Bytes junk(junk_bytes);
      if (!zeros) {
        for (std::byte& b : junk) b = std::byte(random() & 0xff);
      }
      log.add(junk);
      log.add(batch_at(2));
      log.add(batch_at(3));
      const Found found = read_all(log.bytes);
      EXPECT_EQ(found.offsets, offsets(0, 4));
      ASSERT_EQ(found.damage.size(), 1u);
      EXPECT_EQ(found.damage[0], std::pair(log.positions[2], log.positions[3]));
    }
  }
}

TEST(SegmentReader, FindsABatchWhoseHeaderLiesAcrossTheEndOfItsReadAhead) {
  constexpr std::size_t kReadAheadBytes = 512u << 10;
  for (std::size_t inside = 1; inside <= kBatchHeaderBytes; ++inside) {
    Log log = Log::of(2);
    log.add(Bytes(kReadAheadBytes - inside - log.bytes.size()));
    log.add(batch_at(2));
    EXPECT_EQ(read_all(log.bytes).offsets, offsets(0, 3)) << inside;
  }
}

TEST(SegmentReader, DoesNotTakeAValueForABatch) {
  // A value that is itself a batch, in a batch whose own CRC does not hold.
  const Bytes inner = batch_at(1'000'000);
  Log log = Log::of(2);
  log.add(batch({.base_offset = 2, .records = {{"k", test::to_text(inner)}}}));
  log.add(batch_at(3));
  log.damage(log.positions[2] + 62);
  EXPECT_EQ(read_all(log.bytes).offsets, (std::vector<Offset>{0, 1, 3}));

  // Two such batches in a row, and one at the end.
  Log worse = Log::of(1);
  for (const Offset offset : {1, 2, 3}) {
    worse.add(batch({.base_offset = offset, .records = {{"k", test::to_text(inner)}}}));
  }
  for (const std::size_t i : {1u, 2u, 3u}) worse.damage(worse.positions[i] + 62);
  EXPECT_EQ(read_all(worse.bytes).offsets, (std::vector<Offset>{0}));
}

TEST(SegmentReader, LooksForNoBatchInATornTail) {
  const Bytes inner = batch_at(1'000'000);
  Log log = Log::of(2);
  log.add(batch({.base_offset = 2, .records = {{"k", test::to_text(inner)}, {"k", "v"}}}));
  log.bytes.pop_back();
  const std::uint64_t size = log.bytes.size();
  EXPECT_EQ(read_all(log.bytes).offsets, (std::vector<Offset>{0, 1, 1'000'000}));
  Found found = read_all(log.bytes, SegmentReader::Range{.to = size, .may_be_torn = true});
  EXPECT_EQ(found.offsets, offsets(0, 2));
  ASSERT_EQ(found.damage.size(), 1u);
  EXPECT_EQ(found.damage[0], std::pair(log.positions[2], size));

  // One that does not ascend is no beginning of the next batch.
  Log junk = Log::of(2);
  Bytes lie = batch_at(1);
  lie[10] = std::byte{0x7f};
  junk.add(lie);
  junk.add(batch_at(2));
  found = read_all(junk.bytes, SegmentReader::Range{.to = junk.bytes.size(), .may_be_torn = true});
  EXPECT_EQ(found.offsets, offsets(0, 3));
}

TEST(SegmentReader, BelievesNoLength) {
  // A header that claims a gigabyte, in a range that has it.
  Log log = Log::of(1);
  Bytes lie = batch_at(1);
  lie[8] = std::byte{0x3f};
  log.add(lie);
  log.add(Bytes(2000));
  log.add(batch_at(2));
  const Found found = read_all(log.bytes, SegmentReader::Range{0, 2ull << 30});
  EXPECT_EQ(found.offsets, (std::vector<Offset>{0, 2}));
  EXPECT_LE(found.buffer_bytes, 1u << 20);
}

TEST(SegmentReader, SearchesALargeRangeInBoundedTime) {
  // Every 61 bytes a header that claims all the rest.
  Log log = Log::of(1);
  BatchHeader header = *read_batch_header(batch_at(1));
  Bytes fakes(16u << 20);
  for (std::size_t at = 0; at + kBatchHeaderBytes <= fakes.size(); at += kBatchHeaderBytes) {
    header.batch_length = static_cast<std::int32_t>(fakes.size() - at) - 12 + 30;
    write_batch_header(header, std::span(fakes).subspan(at));
  }
  log.add(fakes);
  log.add(batch_at(2));
  const auto start = std::chrono::steady_clock::now();
  const Found found = read_all(log.bytes);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(found.offsets.front(), 0);
  EXPECT_LT(found.read_bytes, 40 * log.bytes.size() + (128u << 20));
}

TEST(SegmentReader, SurvivesRandomDamage) {
  const Log good = Log::of(200);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Log log = good;
    std::vector<bool> hit(200);
    for (std::uint64_t changes = 1 + random() % 5; changes > 0; --changes) {
      const std::uint64_t at = random() % log.bytes.size();
      const auto next = std::upper_bound(good.positions.begin(), good.positions.end(), at);
      const auto index = static_cast<std::size_t>(next - good.positions.begin()) - 1;
      if (at - good.positions[index] < 16) continue;  // outside the CRC
      log.damage(at);
      hit[index] = true;
    }
    std::vector<Offset> expected;
    for (std::size_t i = 0; i < hit.size(); ++i) {
      if (!hit[i] || log.bytes[good.positions[i] + 16] == std::byte{2}) {
        const auto size = good.positions[i + 1] - good.positions[i];
        if (crc_holds(ByteView(log.bytes).subspan(good.positions[i], size))) {
          expected.push_back(static_cast<Offset>(i));
        }
      }
    }
    EXPECT_EQ(read_all(log.bytes).offsets, expected);
  }
}

}  // namespace
}  // namespace lastword::storage
