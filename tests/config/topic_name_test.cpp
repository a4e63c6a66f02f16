// SPDX-License-Identifier: Apache-2.0
#include "config/topic_name.h"

#include <gtest/gtest.h>

#include <string>

namespace lastword {
namespace {

TEST(TopicName, TakesWhatKafkaTakes) {
  for (const std::string& name :
       {std::string("a"), std::string("customer-addresses"), std::string("A.b_C-9"),
        std::string("..."), std::string(249, 'x'), std::string("__consumer_offsets")}) {
    EXPECT_EQ(topic_name_error(name), std::nullopt) << name;
  }
}

TEST(TopicName, RefusesTheRest) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string(250, 'x'), std::string("a b"), std::string("a/b"),
                                  std::string("a\0b", 3), std::string("ä"), std::string("a\n")}) {
    EXPECT_NE(topic_name_error(name), std::nullopt) << name;
  }
}

TEST(TopicName, CollidesWhereOnlyDotAndUnderscoreDiffer) {
  EXPECT_TRUE(topic_names_collide("a.b", "a_b"));
  EXPECT_TRUE(topic_names_collide("a.b_c", "a_b.c"));
  EXPECT_FALSE(topic_names_collide("a.b", "a.b"));
  EXPECT_FALSE(topic_names_collide("a.b", "a-b"));
  EXPECT_FALSE(topic_names_collide("a", "aa"));
}

}  // namespace
}  // namespace lastword
