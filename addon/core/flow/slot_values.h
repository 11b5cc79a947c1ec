// The numbers of one record, by slot.
#pragma once

#include <array>
#include <cstdint>

#include "flow/record_layout.h"
#include "flow/waiting_sets.h"

namespace floodwall {

class SlotValues {
 public:
  /// Before the records of another layout: what it does not have is 0.
  void clear() noexcept { values_ = {}; }
  void load(const RecordLayout& layout, const std::uint8_t* record) noexcept {
    for (const NumberField& field : layout.numbers) {
      values_[static_cast<std::size_t>(field.slot)] = big64(record + field.at) << field.shift >> field.shift;
    }
  }
  [[nodiscard]] std::uint64_t operator[](Slot slot) const noexcept { return values_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::uint32_t u32(Slot slot) const noexcept { return static_cast<std::uint32_t>((*this)[slot]); }

 private:
  std::array<std::uint64_t, kSlots> values_{};
};

struct FlowTimes {
  std::uint32_t durationMs = 0;
  std::uint32_t ageMs = 0;
  /// By the exporter's clock or uptime; 0: not known.
  std::int64_t startMs = 0;
};
/// Times that cannot be, as an end before the start, are taken for unknown: 0.
[[nodiscard]] FlowTimes timesOf(const RecordLayout& layout, const SlotValues& values,
                                const MessageTimes& times) noexcept;

}  // namespace floodwall
