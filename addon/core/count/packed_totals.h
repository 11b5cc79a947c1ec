// The counts of one host over the window, in one cache line.
#pragma once

#include <array>
#include <cstdint>

#include "count/totals.h"

namespace floodwall {

/// Totals with 36 bits for packets and new flows and 42 for bytes. In the longest window of 60 s that is one host with
/// 10^9 packets and 580 * 10^9 bits per second, more than one machine takes in.
class alignas(64) PackedTotals {
 public:
  void add(const Totals& delta) noexcept {
    std::array<std::uint64_t, Totals::kCount> sums;
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < Totals::kCount; i++) any |= sums[i] = low_[i] + delta.counts[i];
    put(sums, any, delta, [](Totals& all, const Totals& by) { all.add(by); });
  }
  /// What was added before.
  void subtract(const Totals& delta) noexcept {
    std::array<std::uint64_t, Totals::kCount> sums;
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < Totals::kCount; i++) any |= sums[i] = low_[i] - delta.counts[i];
    put(sums, any, delta, [](Totals& all, const Totals& by) { all.subtract(by); });
  }
  [[nodiscard]] Totals totals() const noexcept {
    Totals all;
    for (std::size_t i = 0; i < Totals::kCount; i++) all.counts[i] = low_[i];
    if ((packetsHigh_ | bytesHigh_) == 0) [[likely]] {
      return all;
    }
    for (std::size_t i = 0; i < kClasses; i++) {
      all.counts[i] |= highOf(packetsHigh_, i, kPacketBits);
      all.counts[Totals::kBytes + i] |= highOf(bytesHigh_, i, kByteBits);
    }
    all.counts[Totals::kNewFlows] |= highOf(packetsHigh_, kClasses, kPacketBits);
    return all;
  }
  [[nodiscard]] bool isZero() const noexcept {
    std::uint64_t any = packetsHigh_ | bytesHigh_;
    for (const std::uint32_t low : low_) any |= low;
    return any == 0;
  }

 private:
  /// Bits of each count beyond the low 32.
  static constexpr unsigned kPacketBits = 4, kByteBits = 10;

  /// Nearly always no count leaves its low bits, and the others are not looked at.
  template <typename Change>
  void put(const std::array<std::uint64_t, Totals::kCount>& sums, std::uint64_t any, const Totals& delta,
           Change&& change) noexcept {
    if (any >> 32 == 0) [[likely]] {
      for (std::size_t i = 0; i < Totals::kCount; i++) low_[i] = static_cast<std::uint32_t>(sums[i]);
      return;
    }
    Totals all = totals();
    change(all, delta);
    for (std::size_t i = 0; i < Totals::kCount; i++) low_[i] = static_cast<std::uint32_t>(all.counts[i]);
    bytesHigh_ = 0;
    std::uint64_t packetsHigh = 0;
    for (std::size_t i = 0; i < kClasses; i++) {
      packetsHigh |= (all.counts[i] >> 32 & mask(kPacketBits)) << i * kPacketBits;
      bytesHigh_ |= (all.counts[Totals::kBytes + i] >> 32 & mask(kByteBits)) << i * kByteBits;
    }
    packetsHigh |= (all.counts[Totals::kNewFlows] >> 32 & mask(kPacketBits)) << kClasses * kPacketBits;
    packetsHigh_ = static_cast<std::uint32_t>(packetsHigh);
  }

  [[nodiscard]] static constexpr std::uint64_t mask(unsigned bits) noexcept { return (std::uint64_t{1} << bits) - 1; }
  [[nodiscard]] static std::uint64_t highOf(std::uint64_t high, std::size_t i, unsigned bits) noexcept {
    return (high >> i * bits & mask(bits)) << 32;
  }

  std::array<std::uint32_t, Totals::kCount> low_;
  /// Of the packets of each class, then of the new flows.
  std::uint32_t packetsHigh_;
  std::uint64_t bytesHigh_;
};
static_assert(sizeof(PackedTotals) == 64);

}  // namespace floodwall
