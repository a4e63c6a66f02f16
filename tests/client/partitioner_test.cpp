// SPDX-License-Identifier: Apache-2.0
#include "client/partitioner.h"

#include <gtest/gtest.h>

namespace lastword::client {
namespace {

// From the unit test of Kafka's Java client.
TEST(Partitioner, HashesAsTheJavaClientDoes) {
  EXPECT_EQ(murmur2("21"), -973932308);
  EXPECT_EQ(murmur2("foobar"), -790332482);
  EXPECT_EQ(murmur2("a-little-bit-long-string"), -985981536);
  EXPECT_EQ(murmur2("a-little-bit-longer-string"), -1486304829);
  EXPECT_EQ(murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58897971);
  EXPECT_EQ(murmur2("abc"), 479470107);
}

TEST(Partitioner, MakesNegativeHashesPositive) {
  EXPECT_EQ(partition_of_key("21", 3), (-973932308 & 0x7fffffff) % 3);
  for (int i = 0; i < 1000; ++i) {
    const auto partition = partition_of_key("key " + std::to_string(i), 7);
    EXPECT_GE(partition, 0);
    EXPECT_LT(partition, 7);
  }
}

TEST(Partitioner, HashesBytesThatAreNoText) {
  EXPECT_EQ(murmur2(std::string("\xff\x80\x00\x7f", 4)),
            murmur2(std::string("\xff\x80\x00\x7f", 4)));
  EXPECT_NE(murmur2(std::string("\xff\x80\x00\x7f", 4)),
            murmur2(std::string("\xff\x80\x01\x7f", 4)));
}

}  // namespace
}  // namespace lastword::client
