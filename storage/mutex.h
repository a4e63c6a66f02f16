// SPDX-License-Identifier: Apache-2.0
// A mutex that clang's thread-safety analysis understands; elsewhere the marks vanish.
//
// Threads   that is its job.
// Lifetime  longer than every lock on it.
#pragma once

#include <mutex>

#if defined(__clang__)
#define LW_THREAD(x) __attribute__((x))
#else
#define LW_THREAD(x)
#endif
#define CAPABILITY(x) LW_THREAD(capability(x))
#define SCOPED_CAPABILITY LW_THREAD(scoped_lockable)
#define GUARDED_BY(x) LW_THREAD(guarded_by(x))
#define REQUIRES(...) LW_THREAD(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) LW_THREAD(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) LW_THREAD(acquire_capability(__VA_ARGS__))
#define RELEASE(...) LW_THREAD(release_capability(__VA_ARGS__))

namespace lastword::storage {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace lastword::storage
