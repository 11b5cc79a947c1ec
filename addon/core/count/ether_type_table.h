// How many frames of which Ethernet types were not IP: the most frequent types, of however many there are. One thread
// counts, any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace floodwall {

struct EtherTypeCount {
  std::uint16_t type = 0;
  /// 0: the entry is not in use.
  std::uint64_t frames = 0;
};
inline constexpr std::size_t kEtherTypesKept = 16;
using EtherTypeCounts = std::array<EtherTypeCount, kEtherTypesKept>;

class EtherTypeTable {
 public:
  /// A type for which there is no room takes the place of the one with the fewest frames, which are forgotten here:
  /// what comes often stays, however many types come once. Type 0 is none, and is not kept.
  void count(std::uint16_t type) noexcept {
    if (type == 0) return;
    std::atomic<std::uint64_t>* least = entries_.data();
    for (std::atomic<std::uint64_t>& entry : entries_) {
      const std::uint64_t value = entry.load(std::memory_order_relaxed);
      if (value >> kFrameBits == type) {
        if ((value & kFramesMax) != kFramesMax) entry.store(value + 1, std::memory_order_relaxed);
        return;
      }
      if ((value & kFramesMax) < (least->load(std::memory_order_relaxed) & kFramesMax)) least = &entry;
    }
    least->store(std::uint64_t{type} << kFrameBits | 1, std::memory_order_relaxed);
  }
  [[nodiscard]] EtherTypeCounts counts() const noexcept {
    EtherTypeCounts counts;
    for (std::size_t i = 0; i < kEtherTypesKept; i++) {
      const std::uint64_t value = entries_[i].load(std::memory_order_relaxed);
      counts[i] = {static_cast<std::uint16_t>(value >> kFrameBits), value & kFramesMax};
    }
    return counts;
  }

 private:
  /// A type and its frames in one word, so that a reader never sees the one with the count of another.
  static constexpr unsigned kFrameBits = 48;
  static constexpr std::uint64_t kFramesMax = (std::uint64_t{1} << kFrameBits) - 1;
  std::array<std::atomic<std::uint64_t>, kEtherTypesKept> entries_{};
};

}  // namespace floodwall
