// Values that are reached only through the lock that protects them.
#pragma once

#include <mutex>
#include <utility>

namespace floodwall {

/// A value while its lock is held.
template <typename T, typename Lock>
class Held {
 public:
  Held(T& value, Lock& lock) : held_(lock), value_(value) {}
  [[nodiscard]] T& operator*() const noexcept { return value_; }
  [[nodiscard]] T* operator->() const noexcept { return &value_; }

 private:
  std::scoped_lock<Lock> held_;
  T& value_;
};

/// Any thread may read and change it.
template <typename T, typename Lock = std::mutex>
class Guarded {
 public:
  [[nodiscard]] Held<T, Lock> lock() { return {value_, lock_}; }
  [[nodiscard]] Held<const T, Lock> lock() const { return {value_, lock_}; }

 private:
  mutable Lock lock_;
  T value_;
};

/// One thread changes it, piece by piece under the lock, and reads it without: that is the thread of who owns it. All
/// others are given a `const OneWriter`, with which they can do nothing but read it under the lock.
template <typename T, typename Lock = std::mutex>
class OneWriter {
 public:
  template <typename... Arguments>
  explicit OneWriter(std::in_place_t, Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] Held<const T, Lock> lock() const { return {value_, lock_}; }

  [[nodiscard]] Held<T, Lock> change() { return {value_, lock_}; }
  [[nodiscard]] const T& read() noexcept { return value_; }

 private:
  mutable Lock lock_;
  T value_;
};

}  // namespace floodwall
