// SPDX-License-Identifier: Apache-2.0
// Random histories of whole brokers against a map and a list.
//
// LASTWORD_MODEL_SEED=7       that seed alone
// LASTWORD_MODEL_STEPS=1e6    about so many steps, over as many seeds as they take
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/model/operations.h"

namespace lastword::model {
namespace {

constexpr std::uint64_t kStepsOfASeed = 250;
constexpr std::uint64_t kSteps = 60'000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint64_t>(std::strtod(text, nullptr));
}

TEST(Model, HoldsThroughRandomHistories) {
  const std::uint64_t only = number_from("LASTWORD_MODEL_SEED", 0);
  const std::uint64_t steps =
      number_from("LASTWORD_MODEL_STEPS", only != 0 ? kStepsOfASeed : kSteps);
  Coverage coverage;
  for (std::uint64_t seed = 1; only == 0 && coverage.steps < steps; ++seed) {
    History history(seed);
    const std::string wrong = history.run(kStepsOfASeed);
    coverage.add(history.coverage());
    ASSERT_TRUE(wrong.empty()) << wrong;
  }
  if (only != 0) {
    History history(only);
    const std::string wrong = history.run(steps);
    ASSERT_TRUE(wrong.empty()) << wrong;
    coverage.add(history.coverage());
  }
  std::cout << coverage.text();
  if (coverage.steps >= kSteps) {
    EXPECT_EQ(coverage.missing(), "") << "never happened";
  }
}

}  // namespace
}  // namespace lastword::model
