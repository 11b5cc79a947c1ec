// Numbers of the exporters of all sources of an engine, which their threads share: their bound, and what a record names
// its exporter by.
#pragma once

#include <bitset>
#include <cstdint>
#include <mutex>
#include <optional>

#include "collector/flow_limits.h"

namespace floodwall {

class ExporterNumbers {
 public:
  /// A number below kExportersMax, which records have plus 1; none when `most` are taken.
  /// `wanted`, if it is free: the one that it had before a restart.
  [[nodiscard]] std::optional<std::uint16_t> take(std::uint32_t most, std::optional<std::uint16_t> wanted = {}) {
    const std::lock_guard lock(mutex_);
    if (taken_.count() >= most) return std::nullopt;
    if (!wanted || *wanted >= kExportersMax || taken_[*wanted]) wanted = next();
    taken_.set(*wanted);
    reserved_.reset(*wanted);
    return wanted;
  }
  /// Given to others only when no other is left.
  void reserve(std::uint16_t number) {
    const std::lock_guard lock(mutex_);
    if (number < kExportersMax) reserved_.set(number);
  }
  void give(std::uint16_t number) {
    const std::lock_guard lock(mutex_);
    taken_.reset(number);
  }

 private:
  /// The one after the last that was taken: a number is not given again soon.
  std::uint16_t next() {
    const auto unwanted = (taken_ | reserved_).all() ? taken_ : taken_ | reserved_;
    do {
      next_ = (next_ + 1) % kExportersMax;
    } while (unwanted[next_]);
    return static_cast<std::uint16_t>(next_);
  }

  std::mutex mutex_;
  std::bitset<kExportersMax> taken_;
  std::bitset<kExportersMax> reserved_;
  std::uint32_t next_ = kExportersMax - 1;
};

}  // namespace floodwall
