// SPDX-License-Identifier: Apache-2.0
// Batches larger than any buffer, stretches in which nothing stays, and encodings of other
// writers, on their way through a pass.
#include <gtest/gtest.h>
#include <snappy.h>

#include <random>
#include <variant>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::fast_compacted;
using test::StoreFixture;
using Offsets = std::vector<Offset>;

constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

/// Text that no codec makes smaller.
std::string noise(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class LargeBatches : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  StoreFixture broker{};
};

TEST_F(LargeBatches, ThatLoseOneRecordAreRewrittenWhole) {
  for (const Codec codec : kCodecs) {
    SCOPED_TRACE(codec_name(codec));
    const std::string name = "t" + std::to_string(static_cast<int>(codec));
    broker.create(name, fast_compacted());
    const std::string value = noise(3'000'000, 1);
    broker.append(name, {.records = {{"a", "1"}, {"b", value}}, .codec = codec});
    broker.put(name, "a", "2");
    broker.advance(1000);
    EXPECT_TRUE(broker.report(name).quarantine_reason.empty());
    EXPECT_EQ(broker.offsets_left(name), (Offsets{1, 2}));
    EXPECT_TRUE(broker.table(name).at("b") == value) << "the value has changed";
  }
}

TEST_F(LargeBatches, InARowOfWhichNoneStaysDoNotEndAPass) {
  broker.create("t", fast_compacted());
  for (unsigned i = 0; i < 8; ++i) broker.put("t", "a", noise(2'000'000, i), Codec::kLz4);
  for (unsigned i = 0; i < 100; ++i) broker.put("t", "b", noise(50'000, i));
  broker.put("t", "a", "last");
  broker.put("t", "b", "last");
  broker.advance(1000);
  EXPECT_TRUE(broker.report("t").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{108, 109}));
  EXPECT_LT(broker.read_bytes("t").size(), 1000U);
}

/// The same batch with its records in the bare format, as librdkafka and others write it.
CheckedBatch in_bare_snappy(const test::BatchSpec& spec) {
  const Bytes plain = test::batch(spec);
  const std::string records = test::to_text(ByteView(plain).subspan(kBatchHeaderBytes));
  std::string packed;
  snappy::Compress(records.data(), records.size(), &packed);
  Bytes bytes(plain.begin(), plain.begin() + kBatchHeaderBytes);
  test::append(bytes, test::view_of(packed));
  BatchHeader header = *read_batch_header(plain);
  header.attributes = static_cast<std::int16_t>(Codec::kSnappy);
  header.batch_length += static_cast<std::int32_t>(packed.size() - records.size());
  write_batch_header(header, bytes);
  seal_batch(bytes);
  auto verdict = check_batch(std::move(bytes), test::lenient_rules(), spec.timestamp);
  LW_CHECK(std::holds_alternative<CheckedBatch>(verdict));
  return std::get<CheckedBatch>(std::move(verdict));
}

TEST_F(LargeBatches, InBareSnappyAreCleanedAsFramedOnesAre) {
  broker.create("t", fast_compacted());
  auto first = in_bare_snappy({.records = {{"a", "1"}, {"b", "1"}, {"c", std::string(5000, 'c')}}});
  ASSERT_TRUE(broker.log("t").append(first));
  auto second = in_bare_snappy({.records = {{"b", "2"}}});
  ASSERT_TRUE(broker.log("t").append(second));
  ASSERT_TRUE(broker.log("t").sync());
  broker.advance(1000);
  EXPECT_TRUE(broker.report("t").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{0, 2, 3}));
  EXPECT_EQ(broker.table("t").at("c"), std::string(5000, 'c'));
  for (const BatchHeader& header : test::headers_of(broker.read_bytes("t"))) {
    EXPECT_EQ(header.codec(), Codec::kSnappy);
  }
}

}  // namespace
}  // namespace lastword::cleaner
