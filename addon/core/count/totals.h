// Counts of one host in one direction over a span of time, and the rates that follow from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "count/counters.h"

namespace floodwall {

/// Packets by class, bytes by class, new flows. As Counters, in one row and without wrapping around.
struct Totals {
  static constexpr std::size_t kCount = 2 * kClasses + 1;
  static constexpr std::size_t kBytes = kClasses;
  static constexpr std::size_t kNewFlows = 2 * kClasses;

  std::array<std::uint64_t, kCount> counts{};

  void add(const Totals& other) noexcept {
    for (std::size_t i = 0; i < kCount; i++) counts[i] += other.counts[i];
  }
  void subtract(const Totals& other) noexcept {
    for (std::size_t i = 0; i < kCount; i++) counts[i] -= other.counts[i];
  }
  [[nodiscard]] bool isZero() const noexcept {
    std::uint64_t any = 0;
    for (const std::uint64_t count : counts) any |= count;
    return any == 0;
  }
  /// The four protocols; SYN and fragments overlap with them.
  [[nodiscard]] std::uint64_t packets() const noexcept { return counts[0] + counts[1] + counts[2] + counts[3]; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return counts[kBytes] + counts[kBytes + 1] + counts[kBytes + 2] + counts[kBytes + 3];
  }
};

/// How much it is beside others: packets, or bytes of long ones. 100 packets weigh as much as a megabit.
[[nodiscard]] inline std::uint64_t sizeOf(const Totals& totals) noexcept {
  return std::max(totals.packets(), totals.bytes() / 1250);
}

/// The counts between two readings of wrapping counters.
[[nodiscard]] inline Totals totalsBetween(const Counters& now, const Counters& before) noexcept {
  Totals delta;
  for (std::size_t i = 0; i < kClasses; i++) {
    delta.counts[i] = now.packets[i] - before.packets[i];
    delta.counts[Totals::kBytes + i] = now.bytes[i] - before.bytes[i];
  }
  delta.counts[Totals::kNewFlows] = now.newFlows - before.newFlows;
  return delta;
}

/// The classes of the metrics after the first three, each with packets and bits.
inline constexpr std::array<std::size_t, 5> kMetricClasses = {
    static_cast<std::size_t>(Class::tcp), static_cast<std::size_t>(Class::udp), static_cast<std::size_t>(Class::icmp),
    static_cast<std::size_t>(Class::tcpSyn), static_cast<std::size_t>(Class::fragment)};

/// The 13 metrics in the order of Metric: packets, 10^6 bits and new flows per second.
inline void ratesOf(const Totals& totals, double seconds, std::span<double, kMetrics> rates) noexcept {
  constexpr double kMegabitsPerByte = 8e-6;
  const double perSecond = 1 / seconds;
  rates[0] = static_cast<double>(totals.packets()) * perSecond;
  rates[1] = static_cast<double>(totals.bytes()) * perSecond * kMegabitsPerByte;
  rates[2] = static_cast<double>(totals.counts[Totals::kNewFlows]) * perSecond;
  for (std::size_t i = 0; i < kMetricClasses.size(); i++) {
    rates[3 + 2 * i] = static_cast<double>(totals.counts[kMetricClasses[i]]) * perSecond;
    rates[4 + 2 * i] =
        static_cast<double>(totals.counts[Totals::kBytes + kMetricClasses[i]]) * perSecond * kMegabitsPerByte;
  }
}

}  // namespace floodwall
