// SPDX-License-Identifier: Apache-2.0
// Two more walks over field lists: one fills a message with values that all differ, one compares.
//
// Threads   pure functions.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "protocol/codec.h"

namespace lastword {

template <Struct S>
class FillWalk {
 public:
  FillWalk(S& message, int& next) : message_(message), next_(next) {}

  template <class T, class... Options>
  void operator()(const char*, T S::*member, Options...) {
    fill(message_.*member);
  }

 private:
  template <class T>
  void fill(T& value) {
    ++next_;
    if constexpr (Struct<T>) {
      FillWalk<T> walk(value, next_);
      T::fields(walk);
    } else if constexpr (codec::is_list<T>) {
      for (int i = 0; i < 2; ++i) fill(value.emplace_back());
    } else if constexpr (std::same_as<T, bool>) {
      value = !value;
    } else if constexpr (Number<T>) {
      value = static_cast<T>(sizeof(T) == 1 ? next_ % 100 + 1 : 256 + next_);
    } else if constexpr (std::same_as<T, Uuid>) {
      value.bytes.fill(std::byte(next_ % 250 + 1));
    } else if constexpr (std::same_as<T, RecordsField>) {
      value.value = Bytes(static_cast<std::size_t>(next_ % 7 + 1), std::byte(next_ % 256));
    } else {
      value = "text " + std::to_string(next_);
    }
  }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }

  S& message_;
  int& next_;
};

template <Struct S>
S filled() {
  S message;
  int next = 0;
  FillWalk<S> walk(message, next);
  S::fields(walk);
  return message;
}

template <Struct S>
bool same(const S& a, const S& b, codec::Context context);

/// Compares the fields that a version has; those that it lacks must be at their defaults in `b`.
template <Struct S>
class SameWalk {
 public:
  SameWalk(const S& a, const S& b, codec::Context context) : a_(a), b_(b), context_(context) {}

  template <class T, class... Options>
  void operator()(const char* name, T S::*member, Options... options) {
    static const S usual{};
    const FieldRule rule = field_rule(options...);
    const bool there = rule.versions.has(context_.version) && (rule.tag < 0 || context_.flexible);
    const T& expected = there ? a_.*member : usual.*member;
    if (equal(expected, b_.*member)) return;
    same_ = false;
    ADD_FAILURE() << name << (there ? " was not carried over" : " is not at its default");
  }

  bool same() const { return same_; }

 private:
  template <class T>
  bool equal(const T& a, const T& b) {
    if constexpr (Struct<T>)
      return lastword::same(a, b, context_);
    else if constexpr (std::same_as<T, RecordsField>)
      return std::ranges::equal(a.view(), b.view());
    else
      return a == b;
  }
  template <class T>
  bool equal(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i], b[i])) return false;
    }
    return true;
  }
  template <class T>
  bool equal(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || equal(*a, *b));
  }

  const S& a_;
  const S& b_;
  codec::Context context_;
  bool same_ = true;
};

template <Struct S>
bool same(const S& a, const S& b, codec::Context context) {
  SameWalk<S> walk(a, b, context);
  S::fields(walk);
  return walk.same();
}

}  // namespace lastword
