// Makes flow records of the records of one data set.
#pragma once

#include <cstdint>

#include "flow/exporter_state.h"
#include "flow/record_layout.h"
#include "flow/slot_values.h"

namespace floodwall {

/// What fits most frames that are longer than a few bytes: where an exporter counts bytes and no packets (firewalls do,
/// NSEL), a flow has at least so many packets as fit its bytes. Without bytes, packets have the least length.
inline constexpr std::uint64_t kEstimatedPacketBytes = 1500, kEstimatedLeastBytes = 46;

class RecordMaker {
 public:
  RecordMaker(Decoding& decoding, FlowDomain& domain, const FlowTemplate& flowTemplate, const MessageTimes& times);

  /// Looks at what the records have that come next; call it before the first, and for each where lengths vary.
  void useLayout(const RecordLayout& layout);
  /// One record of flows: up to two records for the sink, since some say what went each way.
  void makeFlow(const std::uint8_t* record);
  /// One record of options: sampling rates, names of interfaces.
  void readOptions(const std::uint8_t* record);

 private:
  struct Counted {
    std::uint64_t packets;
    std::uint64_t bytes;
  };
  /// Slots of what is counted one way; Slot::none is 0.
  struct CountedSlots {
    Slot packets = Slot::none;
    Slot bytes = Slot::none;
    bool isLayer2 = false;
  };

  [[nodiscard]] CountedSlots forwardSlots() const noexcept;
  [[nodiscard]] CountedSlots backwardSlots() const noexcept;
  [[nodiscard]] Counted counted(const CountedSlots& slots) noexcept;
  /// False if there is none.
  bool setAddresses(const std::uint8_t* record, Packet& packet) const noexcept;
  void setFields(FlowRecord& made) const noexcept;
  void setCounts(Counted counted, FlowRecord& made) noexcept;
  bool setSampledPacket(const std::uint8_t* record, FlowRecord& made, Counted& counted);
  void addBackward(const FlowRecord& forward, Counted counted);
  [[nodiscard]] std::uint32_t rateOf() const noexcept;
  void finish(FlowRecord& made) noexcept;

  ExporterState& state_;
  RecordBatch& batch_;
  FlowDomain& domain_;
  const FlowTemplate& template_;
  MessageTimes times_;
  const RecordLayout* layout_ = nullptr;
  SlotValues values_;
  CountedSlots forward_;
  CountedSlots backward_;
  bool hasOut_ = false;
  bool hasBackward_ = false;
  bool hasSampledPacket_ = false;
  /// Of all records of the set, unless it is looked up for each.
  std::uint32_t setRate_ = 0;
  bool hasRateEach_ = false;
};

}  // namespace floodwall
