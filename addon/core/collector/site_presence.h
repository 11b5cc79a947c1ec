// When the exporters of each rule last reported traffic, whatever source received it: within a site, which sees the
// same packets several times, an exporter counts only while those listed before it are silent. One whose traffic
// fell far below its usual amount is silent: a forged record now and then keeps no standby out.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/address.h"

namespace floodwall {

/// Presence of the exporters of one rule. Any thread: a race moves a few records to the next period.
class Presence {
 public:
  /// When they last reported at least a share of what is usual. Milliseconds of the monotonic clock; 0: never.
  [[nodiscard]] std::uint64_t reportedMs() const noexcept { return reportedMs_.load(std::memory_order_relaxed); }

  void reported(std::uint64_t nowMs, std::uint64_t records, std::uint64_t silentAfterMs) noexcept {
    std::uint64_t begunMs = begunMs_.load(std::memory_order_relaxed);
    if (nowMs >= begunMs + silentAfterMs / kPeriods && begunMs_.compare_exchange_strong(begunMs, nowMs)) {
      learn(records_.exchange(0, std::memory_order_relaxed));
    }
    const std::uint64_t seen = records_.fetch_add(records, std::memory_order_relaxed) + records;
    if (isEnough(seen)) reportedMs_.store(nowMs, std::memory_order_relaxed);
  }

 private:
  /// Periods of silentAfterMs.
  static constexpr std::uint64_t kPeriods = 4;
  /// This part of the usual records is enough: one in 64.
  static constexpr std::uint64_t kEnough = 64;
  /// The mean moves by one in kFollow of the difference; where too few are reported it forgets one in kForget.
  static constexpr std::uint64_t kFollow = 8, kForget = 256;

  [[nodiscard]] bool isEnough(std::uint64_t records) const noexcept {
    return records * kEnough >= usual_.load(std::memory_order_relaxed);
  }
  void learn(std::uint64_t records) noexcept {
    const std::uint64_t usual = usual_.load(std::memory_order_relaxed);
    const bool isFirst = usual == 0;
    const std::uint64_t followed = isFirst ? records : (usual * (kFollow - 1) + records + kFollow - 1) / kFollow;
    usual_.store(isEnough(records) ? followed : usual - usual / kForget, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> reportedMs_{0}, begunMs_{0}, records_{0};
  /// Records of a period.
  std::atomic<std::uint64_t> usual_{0};
};

/// Shared by the sources of an engine. Any thread.
class SitePresence {
 public:
  /// The same for the same prefix, as long as any rule holds it.
  [[nodiscard]] std::shared_ptr<Presence> of(const Address& address, std::uint8_t length) {
    const std::lock_guard lock(mutex_);
    std::erase_if(presences_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Presence>& known = presences_[{address.bytes, length}];
    std::shared_ptr<Presence> presence = known.lock();
    if (!presence) known = presence = std::make_shared<Presence>();
    return presence;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::array<std::uint8_t, 16>, std::uint8_t>, std::weak_ptr<Presence>> presences_;
};

}  // namespace floodwall
