// SPDX-License-Identifier: Apache-2.0
// Our field lists against Kafka's own schemas: tests/golden/from_schema.py has encoded each message
// in each version from the schema files, with values that follow from the fields' names. The same
// values put into our messages must give the same bytes.
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "protocol/codec.h"
#include "tests/support/every_message.h"
#include "tests/support/hex.h"

namespace lastword {
namespace {

/// Fills a message as from_schema.py says.
template <Struct S>
class NameWalk {
 public:
  explicit NameWalk(S& message) : message_(message) {}

  template <class T, class... Options>
  void operator()(const char* name, T S::*member, Options... options) {
    if (field_rule(options...).tag >= kOwnTagsFrom) return;
    std::string letters(name);
    std::erase(letters, '_');
    fill(letters, message_.*member);
  }

 private:
  template <class T>
  void fill(const std::string& name, T& value) {
    const int sum = std::accumulate(name.begin(), name.end(), 0);
    if constexpr (Struct<T>) {
      NameWalk<T> walk(value);
      T::fields(walk);
    } else if constexpr (codec::is_list<T>) {
      fill(name, value.emplace_back());
    } else if constexpr (std::same_as<T, bool>) {
      value = !value;
    } else if constexpr (Number<T>) {
      value = static_cast<T>(sizeof(T) == 1 ? sum % 100 + 1 : sum);
    } else if constexpr (std::same_as<T, Uuid>) {
      value.bytes.fill(std::byte(sum % 250 + 1));
    } else if constexpr (std::same_as<T, RecordsField>) {
      const auto text = std::as_bytes(std::span(name)).first(std::min<std::size_t>(4, name.size()));
      value.value = Bytes(text.begin(), text.end());
    } else {
      value = name.substr(0, 4);
    }
  }
  template <class T>
  void fill(const std::string& name, std::optional<T>& value) {
    fill(name, value.emplace());
  }

  S& message_;
};

template <Message M>
void compare_with_schema(const std::string& kind) {
  const std::string name = std::string(M::api.name) + kind;
  SCOPED_TRACE(name);
  std::ifstream file(std::string(LASTWORD_SOURCE_DIR) + "/tests/golden/schema/" + name + ".txt");
  M message;
  NameWalk<M> walk(message);
  M::fields(walk);
  std::int16_t versions = 0;
  for (std::string line; std::getline(file, line); ++versions) {
    const auto version = static_cast<std::int16_t>(std::stoi(line));
    const Bytes expected = from_hex(line.substr(line.find(':')));
    EXPECT_EQ(to_hex(encode(message, version)), to_hex(expected)) << "version " << version;
    EXPECT_TRUE(decode<M>(expected, version)) << "version " << version;
  }
  EXPECT_EQ(versions, M::api.supported.last - M::api.supported.first + 1);
}

TEST(Schema, EveryMessageHasTheBytesThatKafkasSchemasGive) {
  for_each_api([]<class Request, class Response>() {
    compare_with_schema<Request>("Request");
    compare_with_schema<Response>("Response");
  });
}

}  // namespace
}  // namespace lastword
