// SPDX-License-Identifier: Apache-2.0
// The house rules that a program can check, over every text file of the project: who may include
// whom, the opening of each file, lengths, names, leftovers. A message names the line and the
// remedy.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kFunctionLinesMax = 70;
constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kOpeningLinesMin = 3;
constexpr std::size_t kSmallHeaderLinesMax = 25;
constexpr std::string_view kSpdx = "SPDX-License-Identifier: Apache-2.0";

struct SourceFile {
  std::string path;  // from the root of the project
  std::vector<std::string> lines;
  bool ends_with_newline = true;
};

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

bool is_cpp(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cpp"); }

bool is_test(std::string_view path) { return path.starts_with("tests/"); }

bool is_script(const SourceFile& file) {
  return file.path.ends_with(".py") || file.path.ends_with(".sh") ||
         (!file.lines.empty() && file.lines.front().starts_with("#!"));
}

bool is_text(const fs::path& path) {
  static const std::vector<std::string> kEndings = {".h",       ".cpp",  ".cmake", ".txt",  ".md",
                                                    ".json",    ".sh",   ".py",    ".yaml", ".yml",
                                                    ".service", ".java", ""};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

bool is_skipped(const std::string& path) {
  return starts_with_any(path, {".git/", ".cache/", "build", "data/", "tests/golden/",
                                "tests/fuzz/corpus/", "LICENSE"}) ||
         path.find("/__pycache__/") != std::string::npos ||
         path.find("/target/") != std::string::npos || path.find("/.venv") != std::string::npos;
}

SourceFile read(const fs::path& root, const std::string& path) {
  std::ifstream stream(root / path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  SourceFile file{path, {}, text.empty() || text.back() == '\n'};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    file.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return file;
}

std::vector<SourceFile> read_project() {
  const fs::path root = LASTWORD_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
    const std::string path = fs::relative(at->path(), root).generic_string();
    if (at->is_directory() && is_skipped(path + "/")) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && is_text(at->path()) && !is_skipped(path)) {
      files.push_back(read(root, path));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& project() {
  static const std::vector<SourceFile> kFiles = read_project();
  return kFiles;
}

void complain(const SourceFile& file, std::size_t line_index, const std::string& what) {
  ADD_FAILURE() << file.path << ":" << line_index + 1 << ": " << what;
}

// ---- who may include whom ------------------------------------------------------------------

// The half of protocol/ that speaks of messages; storage and cleaner know only the other half.
bool is_message_half(std::string_view path) {
  return starts_with_any(path, {"protocol/messages/", "protocol/fields.", "protocol/codec.",
                                "protocol/header.", "protocol/error_code."});
}

// The settings as values, and the tables that name and parse them: no file, no JSON.
bool is_config_for_all(std::string_view path) {
  return starts_with_any(path,
                         {"config/options.h", "config/topic_settings.h", "config/broker_settings.h",
                          "config/setting_value.h", "config/topic_name.h", "config/host_port.h"});
}

// nullptr when `includer` may include our own header `included`, else the rule that forbids it.
const char* broken_rule(std::string_view includer, std::string_view included) {
  const auto into = [included](std::string_view folder) { return included.starts_with(folder); };
  if (is_test(includer)) return nullptr;
  if (is_config_for_all(included)) return nullptr;
  if (includer.starts_with("config/options.")) return "config/options includes nothing of ours";
  if (into("config/load") && includer != "server/main.cpp" && !includer.starts_with("config/")) {
    return "only server/main.cpp loads settings; take them as a value";
  }
  if (includer.starts_with("config/")) {
    return into("config/") || included == "protocol/result.h" || included == "protocol/check.h"
               ? nullptr
               : "config includes only itself and protocol/result.h";
  }
  if (includer.starts_with("protocol/")) {
    if (!into("protocol/")) return "protocol includes only itself and config/options.h";
    return is_message_half(included) && !is_message_half(includer)
               ? "the wire half of protocol does not know messages"
               : nullptr;
  }
  if (includer.starts_with("storage/")) {
    return into("storage/") || (into("protocol/") && !is_message_half(included))
               ? nullptr
               : "storage includes itself, the wire half of protocol and config/options.h";
  }
  if (includer.starts_with("cleaner/")) {
    return into("cleaner/") || into("storage/") || (into("protocol/") && !is_message_half(included))
               ? nullptr
               : "cleaner includes itself, storage, the wire half of protocol, config/options.h";
  }
  if (includer.starts_with("server/")) return into("client/") ? "server knows no client" : nullptr;
  if (includer.starts_with("client/")) {
    return into("client/") || into("protocol/") || included == "config/host_port.h"
               ? nullptr
               : "client includes itself, protocol and config/host_port.h";
  }
  return nullptr;
}

struct ThirdParty {
  std::string_view header;                // how its includes begin
  std::vector<std::string_view> allowed;  // what the including path begins with
  const char* rule;
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> kThirdParties = {
      {"asio", {"server/", "client/", "cmake/"}, "only server and client see Asio"},
      {"coroutine", {"server/", "client/"}, "only server and client have coroutines"},
      {"sys/socket.h", {"server/", "client/"}, "only server and client have sockets"},
      {"nlohmann/", {"config/", "client/"}, "JSON is for config, and for lines in client"},
      {"spdlog/",
       {"server/", "client/", "config/", "cleaner/cleaner_threads."},
       "only server, client, config and cleaner/cleaner_threads log; return a value instead"},
      {"fmt/", {}, "take fmt through <spdlog/fmt/fmt.h>"},
      {"CLI/", {"server/", "client/", "config/load"}, "command lines are for the programs"},
      {"gtest/", {}, "GoogleTest is for tests"},
      {"benchmark/", {}, "benchmarks are for tests"},
      {"librdkafka/", {}, "other clients are for tests"},
      {"zlib.h", {"protocol/"}, "codecs are used through protocol/compression.h"},
      {"snappy", {"protocol/"}, "codecs are used through protocol/compression.h"},
      {"lz4", {"protocol/"}, "codecs are used through protocol/compression.h"},
      {"zstd", {"protocol/"}, "codecs are used through protocol/compression.h"},
      {"isa-l", {"protocol/"}, "checksums are taken through protocol/crc32c.h"},
  };
  return kThirdParties;
}

void check_own_include(const SourceFile& file, std::size_t line, const std::string& included) {
  if (included.ends_with(".inc")) return;
  if (!fs::exists(fs::path(LASTWORD_SOURCE_DIR) / included)) {
    complain(file, line, "write includes from the root of the project: no file " + included);
  } else if (const char* rule = broken_rule(file.path, included)) {
    complain(file, line, "must not include " + included + ": " + rule);
  }
}

void check_third_party(const SourceFile& file, std::size_t line, const std::string& included) {
  if (is_test(file.path)) return;
  for (const ThirdParty& library : third_parties()) {
    if (included.starts_with(library.header) && !starts_with_any(file.path, library.allowed)) {
      complain(file, line, "must not include <" + included + ">: " + library.rule);
    }
  }
}

TEST(Tidy, IncludesRunOneWay) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  for (const SourceFile& file : project()) {
    if (!is_cpp(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, kInclude)) continue;
      if (match[1] == "\"") {
        check_own_include(file, i, match[2]);
      } else {
        check_third_party(file, i, match[2]);
      }
    }
  }
}

TEST(Tidy, IncludeRulesCatchWhatTheyShould) {
  EXPECT_NE(broken_rule("storage/log.cpp", "cleaner/compact.h"), nullptr);
  EXPECT_NE(broken_rule("storage/log.cpp", "protocol/messages/fetch.h"), nullptr);
  EXPECT_NE(broken_rule("protocol/bytes.h", "protocol/fields.h"), nullptr);
  EXPECT_NE(broken_rule("cleaner/choose.cpp", "server/broker.h"), nullptr);
  EXPECT_NE(broken_rule("server/broker.cpp", "config/load.h"), nullptr);
  EXPECT_NE(broken_rule("client/consumer.cpp", "storage/log.h"), nullptr);
  EXPECT_NE(broken_rule("config/options.h", "protocol/result.h"), nullptr);
  EXPECT_EQ(broken_rule("server/main.cpp", "config/load.h"), nullptr);
  EXPECT_EQ(broken_rule("storage/log.cpp", "config/options.h"), nullptr);
  EXPECT_EQ(broken_rule("cleaner/compact.cpp", "storage/log.h"), nullptr);
}

// ---- opening of a file ---------------------------------------------------------------------

void check_header_opening(const SourceFile& file) {
  std::size_t end = 0;
  while (end < file.lines.size() && file.lines[end].starts_with("//")) ++end;
  const bool one_line_will_do = is_test(file.path) || file.lines.size() <= kSmallHeaderLinesMax;
  if (end < 1 + (one_line_will_do ? 1 : kOpeningLinesMin)) {
    complain(file, end,
             "say in 3 to 10 comment lines after the licence line what the header is "
             "for, which threads use it, and how long its objects live");
  }
  while (end < file.lines.size() && file.lines[end].empty()) ++end;
  if (end == file.lines.size() || file.lines[end] != "#pragma once") {
    complain(file, std::min(end, file.lines.size()),
             "`#pragma once` comes after the opening comment");
  }
}

TEST(Tidy, FilesOpenWithLicenceAndPurpose) {
  for (const SourceFile& file : project()) {
    if (is_cpp(file.path)) {
      if (file.lines.empty() || file.lines.front() != "// " + std::string(kSpdx)) {
        complain(file, 0, "the first line is `// " + std::string(kSpdx) + "`");
      }
      if (file.path.ends_with(".h")) check_header_opening(file);
    } else if (is_script(file)) {
      const auto end = file.lines.begin() +
                       static_cast<std::ptrdiff_t>(std::min<std::size_t>(file.lines.size(), 4));
      if (std::none_of(file.lines.begin(), end, [](const std::string& line) {
            return line.find(kSpdx) != std::string::npos;
          })) {
        complain(file, 0, "put `# " + std::string(kSpdx) + "` under the first line");
      }
    }
  }
}

// ---- lengths -------------------------------------------------------------------------------

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool has_layout_rules(const SourceFile& file) {
  return is_cpp(file.path) || is_script(file) || file.path.ends_with(".cmake") ||
         file.path.ends_with("CMakeLists.txt");
}

TEST(Tidy, LinesKeepTheLayout) {
  for (const SourceFile& file : project()) {
    if (!has_layout_rules(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (columns(line) > kColumnsMax)
        complain(file, i, "longer than 100 columns; break it (C++: run tools/format)");
      if (line.find('\t') != std::string::npos) complain(file, i, "has a tab; indent with spaces");
      if (line.ends_with(' ')) complain(file, i, "ends in a space; remove it");
      if (line.ends_with('\r')) complain(file, i, "ends in a carriage return; remove it");
    }
    if (!file.ends_with_newline) complain(file, file.lines.size(), "end the file with a newline");
  }
}

TEST(Tidy, FilesAreShort) {
  for (const SourceFile& file : project()) {
    if (has_layout_rules(file) && file.lines.size() > kFileLinesMax) {
      complain(file, kFileLinesMax, "longer than 500 lines; cut it where it changes its subject");
    }
  }
}

// A function at namespace scope, as clang-format lays it out: begins and ends in the first column.
bool opens_function(const std::string& line) {
  static const std::regex kNotAFunction(
      R"(^(namespace|struct|class|enum|union|extern|#|//|\}|template <.*> struct)\b)");
  return !line.empty() && line.front() != ' ' && line.front() != '}' && line.ends_with("{") &&
         line.find('(') != std::string::npos && line.find(" = {") == std::string::npos &&
         !std::regex_search(line, kNotAFunction);
}

TEST(Tidy, FunctionsAreShort) {
  for (const SourceFile& file : project()) {
    if (!is_cpp(file.path) || is_test(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (!opens_function(file.lines[i])) continue;
      std::size_t end = i;
      while (end < file.lines.size() && !file.lines[end].starts_with("}")) ++end;
      if (end - i > kFunctionLinesMax) {
        complain(file, i, "function longer than 70 lines; give its steps names of their own");
      }
      i = end;
    }
  }
}

// ---- names and leftovers -------------------------------------------------------------------

TEST(Tidy, FileNamesAreSnakeCaseAndFinal) {
  static const std::regex kSnake("^[a-z][a-z0-9_]*$");
  static const std::regex kLeftover("(^(new|old|tmp)_)|(_(new|old|tmp|copy|v?2))$|[a-z]2$");
  for (const SourceFile& file : project()) {
    if (!is_cpp(file.path)) continue;
    const std::string stem = fs::path(file.path).stem().string();
    if (!std::regex_match(stem, kSnake)) complain(file, 0, "name the file in snake_case");
    if (std::regex_search(stem, kLeftover)) {
      complain(file, 0, "name the file for what it holds, not for what it came after");
    }
  }
}

struct Leftover {
  std::string word;
  const char* remedy;
};

// Each word is written in two pieces, so that this file does not hold it.
const std::vector<Leftover>& leftovers() {
  static const char* kDoIt = "do it now, or leave it out";
  static const char* kSayIt = "the reader does not have that text; say the rule itself";
  static const char* kNoPlace = "a path of one machine; make it relative or a setting";
  static const std::vector<Leftover> kLeftovers = {
      {std::string("TO") + "DO", kDoIt},
      {std::string("FIX") + "ME", kDoIt},
      {std::string("XX") + "X", kDoIt},
      {std::string("HA") + "CK", kDoIt},
      {std::string("W") + "IP", kDoIt},
      {std::string("kafka-") + "compaction", kSayIt},
      {std::string("kafka-") + "protocol.md", kSayIt},
      {std::string("good-") + "code", kSayIt},
      {std::string("reports") + ".md", kSayIt},
      {std::string("DESIGN") + ".md", kSayIt},
      {std::string("/wo") + "rk/", kNoPlace},
      {std::string("/tmp/") + "lw", kNoPlace},
      {std::string("/ro") + "ot/", kNoPlace},
      {std::string("<<<<") + "<<<", "resolve the merge"},
  };
  return kLeftovers;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool holds_word(const std::string& line, const std::string& word) {
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool free_before =
        at == 0 || !is_word_character(line[at - 1]) || !is_word_character(word.front());
    const bool free_behind =
        end >= line.size() || !is_word_character(line[end]) || !is_word_character(word.back());
    if (free_before && free_behind) return true;
  }
  return false;
}

TEST(Tidy, NothingIsLeftOver) {
  for (const SourceFile& file : project()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const Leftover& leftover : leftovers()) {
        if (holds_word(file.lines[i], leftover.word)) {
          complain(file, i, "holds \"" + leftover.word + "\": " + leftover.remedy);
        }
      }
    }
  }
}

TEST(Tidy, AssertionsStayOn) {
  static const std::regex kAssert(R"(#\s*include\s*(<cassert>|<assert\.h>))");
  for (const SourceFile& file : project()) {
    if (!is_cpp(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], kAssert)) {
        complain(file, i, "use LW_CHECK of protocol/check.h, which stays on in every build");
      }
    }
  }
}

TEST(Tidy, FindsTheProject) { EXPECT_GT(project().size(), 20U); }

}  // namespace
