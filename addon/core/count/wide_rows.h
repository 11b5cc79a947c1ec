// The counters of what stands for more than one packet: of sampled packets and of flow records. They have 64 bits,
// since such a count would wrap one of 32 bits more than once a tick. A row of them lies beside each row of HostRows,
// in memory that is committed only where it is used: exact packets never touch it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "count/weighed.h"

namespace floodwall {

/// As bump() in host_rows.h.
template <typename Number>
void bumpWide(Number& counter, Number by) noexcept {
  std::atomic_ref<Number> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
template <typename Number>
[[nodiscard]] Number peekWide(Number& counter) noexcept {
  return std::atomic_ref<Number>(counter).load(std::memory_order_relaxed);
}

/// Written by one thread, read by the fold at the same time. What almost every record needs is in the first cache line.
struct alignas(64) WideRow {
  struct Pair {
    std::uint64_t packets;
    std::uint64_t bytes;
  };
  static constexpr std::size_t kOften = 3;

  /// By class: tcp, udp, icmp.
  std::array<Pair, kOften> often;
  double packetVariance;
  double byteVariance;
  /// other, tcpSyn, fragment.
  std::array<Pair, kClasses - kOften> seldom;
  std::uint64_t newFlows;

  [[nodiscard]] Pair& of(std::size_t counted) noexcept {
    return counted < kOften ? often[counted] : seldom[counted - kOften];
  }

  void count(const Kind& kind, const Amount& amount) noexcept {
    const auto add = [&](Class counted) {
      Pair& pair = of(static_cast<std::size_t>(counted));
      bumpWide(pair.packets, amount.packets);
      bumpWide(pair.bytes, amount.bytes);
    };
    add(kind.transport);
    if (kind.isSyn) add(Class::tcpSyn);
    if (kind.isFragment) add(Class::fragment);
    if (amount.newFlows != 0) bumpWide(newFlows, amount.newFlows);
    if (amount.variance.isZero()) return;
    bumpWide(packetVariance, amount.variance.packets);
    bumpWide(byteVariance, amount.variance.bytes);
  }

  /// Any thread.
  [[nodiscard]] Weighed peek() noexcept {
    Weighed seen;
    for (std::size_t i = 0; i < kClasses; i++) {
      seen.totals.counts[i] = peekWide(of(i).packets);
      seen.totals.counts[Totals::kBytes + i] = peekWide(of(i).bytes);
    }
    seen.totals.counts[Totals::kNewFlows] = peekWide(newFlows);
    seen.variance = {peekWide(packetVariance), peekWide(byteVariance)};
    return seen;
  }
};
static_assert(sizeof(WideRow) == 128);

/// The counts between two readings.
[[nodiscard]] inline Weighed weighedBetween(const Weighed& now, const Weighed& before) noexcept {
  Weighed delta = now;
  delta.totals.subtract(before.totals);
  delta.variance.packets -= before.variance.packets;
  delta.variance.bytes -= before.variance.bytes;
  return delta;
}

}  // namespace floodwall
