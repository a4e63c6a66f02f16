// SPDX-License-Identifier: Apache-2.0
// Runs every fuzzer body for a moment with a fixed seed, so that the bodies cannot rot where
// libFuzzer is not at hand. Inputs: the files of tests/fuzz/corpus/<name>, cuts and changes of
// them, and random bytes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#define LASTWORD_FUZZER(name) \
  extern "C" int lastword_fuzz_body_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_list.inc"
#undef LASTWORD_FUZZER

namespace {

using Body = int (*)(const std::uint8_t*, std::size_t);
using Input = std::vector<std::uint8_t>;

struct Fuzzer {
  const char* name;
  Body body;
};

constexpr Fuzzer kFuzzers[] = {
#define LASTWORD_FUZZER(name) {#name, lastword_fuzz_body_##name},
#include "fuzz_list.inc"
#undef LASTWORD_FUZZER
};

constexpr std::uint64_t kSeed = 20240229;
constexpr int kRandomInputs = 300;
constexpr int kChangesPerFile = 100;

std::vector<Input> corpus(const std::string& name) {
  const auto folder = std::filesystem::path(LASTWORD_SOURCE_DIR) / "tests/fuzz/corpus" / name;
  std::vector<Input> inputs;
  if (!std::filesystem::exists(folder)) return inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

std::size_t below(std::mt19937_64& random, std::size_t limit) {
  return static_cast<std::size_t>(random()) % limit;
}

Input random_bytes(std::mt19937_64& random) {
  Input input(below(random, 400));
  for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
  return input;
}

Input changed(Input input, std::mt19937_64& random) {
  if (input.empty()) return input;
  if (random() % 4 == 0) input.resize(below(random, input.size()));
  for (std::size_t changes = 1 + below(random, 4); changes > 0 && !input.empty(); --changes) {
    input[below(random, input.size())] = static_cast<std::uint8_t>(random());
  }
  return input;
}

class FuzzSmoke : public testing::TestWithParam<Fuzzer> {};

TEST_P(FuzzSmoke, SurvivesAFixedSeed) {
  const Fuzzer& fuzzer = GetParam();
  std::mt19937_64 random(kSeed);
  const auto run = [&fuzzer](const Input& input) { fuzzer.body(input.data(), input.size()); };

  run({});
  for (const Input& input : corpus(fuzzer.name)) {
    run(input);
    for (int i = 0; i < kChangesPerFile; ++i) run(changed(input, random));
  }
  for (int i = 0; i < kRandomInputs; ++i) run(random_bytes(random));
}

INSTANTIATE_TEST_SUITE_P(All, FuzzSmoke, testing::ValuesIn(kFuzzers),
                         [](const testing::TestParamInfo<Fuzzer>& instance) {
                           return std::string(instance.param.name);
                         });

}  // namespace
