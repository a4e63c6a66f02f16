// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_tree.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>
#include <set>

namespace lastword::test {
namespace {

using Random = std::mt19937_64;

bool coin(Random& random, unsigned one_in) { return random() % one_in == 0; }

/// Decides which changes survive.
class Verdict {
 public:
  /// `sequences` of all changes that are in doubt.
  Verdict(const PowerCut& cut, const std::vector<std::uint64_t>& sequences, std::uint64_t seed)
      : random_(seed), unsynced_(cut.unsynced), tears_by_seed_(!cut.tear_at_bytes) {
    if (unsynced_ == Unsynced::kBySeed) {
      constexpr Unsynced kChoices[] = {Unsynced::kDropped, Unsynced::kKept, Unsynced::kPrefix,
                                       Unsynced::kSubset};
      unsynced_ = kChoices[random_() % std::size(kChoices)];
    }
    const std::size_t moment = random_() % (sequences.size() + 1);
    moment_ = moment < sequences.size() ? sequences[moment] : 0;
  }

  bool keeps(std::uint64_t sequence) {
    switch (unsynced_) {
      case Unsynced::kKept:
        return true;
      case Unsynced::kPrefix:
        return sequence <= moment_;
      case Unsynced::kSubset:
        return coin(random_, 2);
      default:
        return false;
    }
  }

  /// How much of a kept write survives.
  std::size_t kept_bytes(const DataChange& change) {
    const bool torn = tears_by_seed_ && !change.bytes.empty() &&
                      ((unsynced_ == Unsynced::kPrefix && change.sequence == moment_) ||
                       (unsynced_ == Unsynced::kSubset && coin(random_, 4)));
    return torn ? random_() % change.bytes.size() : change.bytes.size();
  }

 private:
  Random random_;
  Unsynced unsynced_;
  bool tears_by_seed_;
  std::uint64_t moment_ = 0;
};

using Visit = std::function<void(Node&)>;

void visit_files(Node& node, std::set<Node*>& seen, const Visit& visit) {
  if (!seen.insert(&node).second) return;
  if (!node.is_directory) return visit(node);
  for (auto& [name, child] : node.durable_names) visit_files(*child, seen, visit);
  for (auto& [name, child] : node.names) visit_files(*child, seen, visit);
}

void for_each_file(Node& root, const Visit& visit) {
  std::set<Node*> seen;
  visit_files(root, seen, visit);
}

/// The changes that survive, torn ones shortened.
std::vector<DataChange> surviving(const Node& file, Verdict& verdict) {
  std::vector<DataChange> kept;
  for (const DataChange& change : file.unsynced) {
    if (!verdict.keeps(change.sequence)) continue;
    kept.push_back(change);
    if (!change.truncate) kept.back().bytes.resize(verdict.kept_bytes(change));
  }
  return kept;
}

void tear_last_write(Node& root, std::uint64_t at_bytes) {
  DataChange* last = nullptr;
  for_each_file(root, [&](Node& file) {
    for (DataChange& change : file.unsynced) {
      if (!change.truncate && (last == nullptr || change.sequence > last->sequence)) {
        last = &change;
      }
    }
  });
  if (last != nullptr && at_bytes < last->bytes.size()) {
    last->bytes.resize(static_cast<std::size_t>(at_bytes));
  }
}

/// What is durable becomes what there is.
void settle(Node& node) {
  node.handles = 0;
  node.linked = true;
  if (node.is_directory) {
    node.names = node.durable_names;
    for (auto& [name, child] : node.names) settle(*child);
    return;
  }
  for (const DataChange& change : node.unsynced) node.durable_content.apply(change);
  node.unsynced.clear();
  node.content = node.durable_content;
  node.allocated_bytes = 0;
}

std::vector<std::uint64_t> sequences_in_doubt(Node& root, const std::vector<NameChange>& changes) {
  std::vector<std::uint64_t> sequences;
  for (const NameChange& change : changes) sequences.push_back(change.sequence);
  for_each_file(root, [&](Node& file) {
    for (const DataChange& change : file.unsynced) sequences.push_back(change.sequence);
  });
  return sequences;
}

}  // namespace

void Holes::fill(const Hole& written) {
  std::vector<Hole> left;
  for (const Hole& hole : holes_) {
    const Hole before{hole.from, std::min(hole.to, written.from)};
    const Hole behind{std::max(hole.from, written.to), hole.to};
    if (before.from < before.to) left.push_back(before);
    if (behind.from < behind.to) left.push_back(behind);
  }
  holes_ = std::move(left);
}

void Holes::note(const DataChange& change, std::uint64_t size_bytes) {
  if (change.truncate || !change.bytes.empty()) {
    if (change.position > size_bytes) holes_.push_back({size_bytes, change.position});
  }
  const std::uint64_t end = change.truncate ? size_bytes : change.position + change.bytes.size();
  if (end > change.position) fill({change.position, end});
}

std::uint64_t Holes::first(std::uint64_t from, std::uint64_t to) const {
  std::uint64_t first = to;
  for (const Hole& hole : holes_) {
    if (hole.to > from) first = std::min(first, std::max(hole.from, from));
  }
  return first;
}

void Content::apply(const DataChange& change) {
  holes.note(change, bytes.size());
  if (change.truncate) return bytes.resize(static_cast<std::size_t>(change.position));
  if (change.bytes.empty()) return;
  const std::size_t end = static_cast<std::size_t>(change.position) + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  std::ranges::copy(change.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(change.position));
}

void apply_change(const NameChange& change) {
  if (change.from.directory) {
    Names& names = change.from.directory->durable_names;
    const auto found = names.find(change.from.name);
    if (found != names.end() && found->second == change.node) names.erase(found);
  }
  if (change.to.directory) change.to.directory->durable_names[change.to.name] = change.node;
}

void cut_power(Node& root, std::vector<NameChange>& changes, const PowerCut& cut,
               std::uint64_t seed) {
  Verdict verdict(cut, sequences_in_doubt(root, changes), seed);
  for (const NameChange& change : changes) {
    if (verdict.keeps(change.sequence)) apply_change(change);
  }
  changes.clear();
  for_each_file(root, [&](Node& file) { file.unsynced = surviving(file, verdict); });
  if (cut.tear_at_bytes) tear_last_write(root, *cut.tear_at_bytes);
  settle(root);
}

}  // namespace lastword::test
