// The counts of every host over the window in one direction, by its number. Most hosts take 32 bytes: their counts are
// packed. A host with more traffic than these hold has a row of full width beside, for as long as it has that traffic.
#pragma once

#include <array>
#include <cstdint>

#include "base/lazy_array.h"
#include "count/totals.h"

namespace floodwall {

class SumTable {
 public:
  /// Memory follows the numbers that are in use. `hosts` 0: a direction that is not counted.
  explicit SumTable(std::size_t hosts) : narrow_(hosts), wide_(hosts) {}

  [[nodiscard]] std::size_t size() const noexcept { return narrow_.size(); }
  void prefetch(std::uint32_t host) const noexcept { __builtin_prefetch(&narrow_[host], 1); }

  [[nodiscard]] Totals of(std::uint32_t host) const noexcept {
    const Narrow& sums = narrow_[host];
    return isWide(sums) ? wide_[sums.words[0]] : totalsOf(sums);
  }
  [[nodiscard]] bool isZero(std::uint32_t host) const noexcept {
    const Narrow& sums = narrow_[host];
    std::uint64_t any = sums.high;
    for (const std::uint32_t word : sums.words) any |= word;
    return any == 0;
  }

  void add(std::uint32_t host, const Totals& delta) noexcept {
    Narrow& sums = narrow_[host];
    if (isWide(sums)) [[unlikely]] {
      wide_[sums.words[0]].add(delta);
    } else if (!addPacked(sums, delta)) [[unlikely]] {
      widen(sums, delta);
    }
  }
  /// Subtracts an earlier addition.
  void subtract(std::uint32_t host, const Totals& delta) noexcept {
    Narrow& sums = narrow_[host];
    if (isWide(sums)) [[unlikely]] {
      Totals& totals = wide_[sums.words[0]];
      totals.subtract(delta);
      if (isFarBelow(totals)) narrow(sums, totals);
      return;
    }
    for (std::size_t i = 0; i < kClasses; i++) {
      if (delta.counts[i] != 0 || delta.counts[Totals::kBytes + i] != 0) {
        put(sums, i, packetsIn(sums, i) - delta.counts[i], bytesIn(sums, i) - delta.counts[Totals::kBytes + i]);
      }
    }
    sums.high -= delta.counts[Totals::kNewFlows] << kFlowsShift;
  }

  [[nodiscard]] std::size_t residentBytes() const { return narrow_.residentBytes() + wide_.residentBytes(); }

 private:
  /// 24 bits of bytes and 16 of packets for each class, 16 of new flows: in a window of a second 134 Mbit/s and 65,000
  /// packets of a class.
  struct alignas(32) Narrow {
    /// Bytes of a class, and above them the low 8 bits of its packets. In a wide row the first is its place.
    std::array<std::uint32_t, kClasses> words;
    /// The high 8 bits of the packets of each class, then the new flows; kWide in their place says that it is wide.
    std::uint64_t high;
  };
  static_assert(sizeof(Narrow) == 32);

  static constexpr unsigned kByteBits = 24, kPacketBits = 16, kFlowsShift = 48;
  static constexpr std::uint64_t kWide = 0xffff, kFlowsMax = kWide - 1;
  static constexpr std::uint64_t kBytesMax = (1U << kByteBits) - 1, kPacketsMax = (1U << kPacketBits) - 1;

  [[nodiscard]] static bool isWide(const Narrow& sums) noexcept { return sums.high >> kFlowsShift == kWide; }
  [[nodiscard]] static std::uint64_t bytesIn(const Narrow& sums, std::size_t i) noexcept {
    return sums.words[i] & kBytesMax;
  }
  [[nodiscard]] static std::uint64_t packetsIn(const Narrow& sums, std::size_t i) noexcept {
    return sums.words[i] >> kByteBits | (sums.high >> 8 * i & 0xff) << 8;
  }
  /// Both within their bounds.
  static void put(Narrow& sums, std::size_t i, std::uint64_t packets, std::uint64_t bytes) noexcept {
    sums.words[i] = static_cast<std::uint32_t>(bytes | (packets & 0xff) << kByteBits);
    sums.high = (sums.high & ~(std::uint64_t{0xff} << 8 * i)) | packets >> 8 << 8 * i;
  }

  [[nodiscard]] static Totals totalsOf(const Narrow& sums) noexcept {
    Totals totals;
    for (std::size_t i = 0; i < kClasses; i++) {
      totals.counts[i] = packetsIn(sums, i);
      totals.counts[Totals::kBytes + i] = bytesIn(sums, i);
    }
    totals.counts[Totals::kNewFlows] = sums.high >> kFlowsShift;
    return totals;
  }

  /// False, and nothing is added, where the sums do not fit.
  [[nodiscard]] static bool addPacked(Narrow& sums, const Totals& delta) noexcept {
    Narrow sum = sums;
    for (std::size_t i = 0; i < kClasses; i++) {
      const std::uint64_t packets = delta.counts[i], bytes = delta.counts[Totals::kBytes + i];
      if ((packets | bytes) == 0) continue;
      if (packets + packetsIn(sum, i) > kPacketsMax || bytes + bytesIn(sum, i) > kBytesMax) return false;
      put(sum, i, packets + packetsIn(sum, i), bytes + bytesIn(sum, i));
    }
    const std::uint64_t newFlows = delta.counts[Totals::kNewFlows];
    if (newFlows + (sum.high >> kFlowsShift) > kFlowsMax) return false;
    sum.high += newFlows << kFlowsShift;
    sums = sum;
    return true;
  }

  void widen(Narrow& sums, const Totals& delta) noexcept {
    std::uint32_t at = freeWide_;
    if (at != kNone) {
      freeWide_ = static_cast<std::uint32_t>(wide_[at].counts[0]);
    } else {
      at = usedWide_++;
    }
    wide_[at] = totalsOf(sums);
    wide_[at].add(delta);
    sums = {{at}, kWide << kFlowsShift};
  }
  /// A quarter of what fits: a host at the bound does not go back and forth.
  [[nodiscard]] static bool isFarBelow(const Totals& totals) noexcept {
    std::uint64_t packets = 0, bytes = 0;
    for (std::size_t i = 0; i < kClasses; i++) {
      packets |= totals.counts[i];
      bytes |= totals.counts[Totals::kBytes + i];
    }
    return packets <= kPacketsMax / 4 && bytes <= kBytesMax / 4 && totals.counts[Totals::kNewFlows] <= kFlowsMax / 4;
  }
  void narrow(Narrow& sums, Totals& totals) noexcept {
    const std::uint32_t at = sums.words[0];
    sums = {};
    for (std::size_t i = 0; i < kClasses; i++) put(sums, i, totals.counts[i], totals.counts[Totals::kBytes + i]);
    sums.high |= totals.counts[Totals::kNewFlows] << kFlowsShift;
    totals.counts[0] = freeWide_;
    freeWide_ = at;
  }

  static constexpr std::uint32_t kNone = 0xffffffff;

  LazyArray<Narrow> narrow_;
  /// Rows that are not in use are linked through their first counts.
  LazyArray<Totals> wide_;
  std::uint32_t usedWide_ = 0;
  std::uint32_t freeWide_ = kNone;
};

}  // namespace floodwall
