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
  [[nodiscard]] std::optional<std::uint16_t> take(std::uint32_t most) {
    const std::lock_guard lock(mutex_);
    if (taken_.count() >= most) return std::nullopt;
    // The one after the last that was taken: a number is not given again soon.
    do {
      next_ = (next_ + 1) % kExportersMax;
    } while (taken_[next_]);
    taken_.set(next_);
    return static_cast<std::uint16_t>(next_);
  }
  void give(std::uint16_t number) {
    const std::lock_guard lock(mutex_);
    taken_.reset(number);
  }

 private:
  std::mutex mutex_;
  std::bitset<kExportersMax> taken_;
  std::uint32_t next_ = kExportersMax - 1;
};

}  // namespace floodwall
