// Makes flow records of the records of one data set.
#pragma once

#include <cstdint>

#include "flow/exporter_state.h"
#include "flow/record_layout.h"
#include "flow/slot_values.h"

namespace floodwall {

/// Length that most frames longer than a few bytes fit: where an exporter counts bytes and no packets (firewalls do,
/// NSEL), a flow has at least as many packets as fit its bytes. Without bytes, packets have the least length.
inline constexpr std::uint64_t kEstimatedPacketBytes = 1500, kEstimatedLeastBytes = 46;

class RecordMaker {
 public:
  /// A counter of 4 or 8 bytes so near to its end has gone below 0.
  static constexpr std::uint64_t kNegativeMost = 1U << 16, kNegative32 = (std::uint64_t{1} << 32) - kNegativeMost;

  RecordMaker(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate, const MessageTimes& times);

  /// Looks at what the records have that come next; call it before the first, and for each where lengths vary.
  void useLayout(const RecordLayout& layout);
  /// Records that name neither a destination nor a packet, which nothing can be counted of.
  void countWithoutPacket(const RecordLayout& layout, std::uint32_t records);
  /// One record of flows: up to two records for the sink, since some say what went each way.
  void makeFlow(const std::uint8_t* record);
  /// One record of options: sampling rates, names of interfaces.
  void readOptions(const RecordLayout& layout, const std::uint8_t* record);
  /// After the last one.
  void endOptions();

 private:
  struct Counted {
    std::uint64_t packets;
    std::uint64_t bytes;
  };
  struct Both {
    Counted there;
    Counted back;
  };
  /// Slots of what is counted one way; Slot::none is 0.
  struct CountedSlots {
    Slot packets = Slot::none;
    Slot bytes = Slot::none;
    bool isLayer2 = false;
    /// The counters are those of the flow since it began.
    bool hasTotal = false;
    /// The counter of a template with both, for records that have nothing of layer 2.
    Slot layer3Bytes = Slot::none;
    /// Bytes are those above layer 4, which may be fewer than any packet has.
    bool isPayload = false;
  };

  [[nodiscard]] CountedSlots forwardSlots() const noexcept;
  [[nodiscard]] CountedSlots backwardSlots() const noexcept;
  [[nodiscard]] FlowRecord::Key keyKind() const noexcept;
  [[nodiscard]] std::uint64_t counterOf(Slot slot, bool& isImpossible) const noexcept {
    const std::uint64_t value = values_[slot];
    return value < kNegative32 ? value : largeCounterOf(slot, isImpossible);
  }
  [[nodiscard]] std::uint64_t largeCounterOf(Slot slot, bool& isImpossible) const noexcept;
  /// Estimates packets or bytes if the record lacks them, and adds the length of frame headers. Elements 231 and 232
  /// count what is above layer 4 (IANA's registry): packets have their least length at least.
  [[nodiscard]] Counted completed(Counted counted, const CountedSlots& slots) noexcept;
  [[nodiscard]] std::uint64_t flowKeyOf(const FlowRecord& made) const noexcept;
  [[nodiscard]] FlowSums deltasOf(const FlowSums& sums) const noexcept;
  [[nodiscard]] FlowSums grownBy(const FlowSums& sums, FlowRecord& made, std::uint64_t nowMs);
  [[nodiscard]] Both countsOf(FlowRecord& made);
  /// The counts of one way, as they are.
  [[nodiscard]] Counted plainCountsOf(FlowRecord& made) noexcept;
  [[nodiscard]] Counted read(const CountedSlots& slots, bool& isImpossible) const noexcept;
  void noteOut(const Counted& counted, const Counted& out, const FlowRecord& made) noexcept;
  /// Sets the fields that are neither addresses, counts nor times.
  void setRest(FlowRecord& made) noexcept;
  void setTimes(FlowRecord& made) const noexcept;
  void setCounts(Counted counted, FlowRecord& made) noexcept;
  bool setSampledPacket(const std::uint8_t* record, FlowRecord& made, Counted& counted);
  void addBackward(const FlowRecord& forward, Counted counted);
  [[nodiscard]] std::uint32_t rateOf() noexcept;
  [[nodiscard]] std::uint32_t rateByOptions();
  void finish(FlowRecord& made) noexcept;
  void setSystemInit(std::uint64_t beganMs);
  void readName(std::uint32_t interface, const std::uint8_t* record);
  void readRate(std::uint32_t interface);
  /// For an interface's name or a sampling rate.
  template <typename Stored>
  void noteChange(Stored stored);

  ExporterState& state_;
  RecordBatch& batch_;
  FlowDomain& domain_;
  FlowTemplate& template_;
  std::size_t& changesLeft_;
  MessageTimes times_;
  const RecordLayout* layout_ = nullptr;
  SlotValues values_;
  CountedSlots forward_;
  CountedSlots backward_;
  std::uint64_t nowMs_;
  FlowRecord::Key key_ = FlowRecord::Key::partial;
  bool hasOut_ = false;
  /// Elements 23 and 24 are of the way back: a template of Cisco Meraki, or of nProbe.
  bool isOutBack_ = false;
  /// The form of most records: one IPv4 packet, counts that hold as they are, times by the uptime.
  bool hasPlainPacket_ = false;
  bool hasPlainCounts_ = false;
  bool hasUptimes_ = false;
  /// Counters are those of the whole flow (elements 85 and 86), or of the firewall's event.
  bool isOfTotals_ = false;
  bool usesEvents_ = false;
  /// Counters are those of the initiator, and of the responder.
  bool usesInitiator_ = false;
  bool hasBackward_ = false;
  bool hasSampledPacket_ = false;
  /// Rate of all records of the set, unless it is looked up for each.
  std::uint32_t setRate_ = 0;
  bool hasRateEach_ = false;
  /// The question of the last record to the options, and their answer: most records of a set ask for the same.
  SamplingTable::Asked asked_;
  /// The slot of the sampler that records name; none: they name none.
  Slot sampler_ = Slot::none;
  bool hasParts_ = false;
  bool hasInterfaceRates_ = false;
  std::uint32_t answeredRate_ = 0;
  bool isAnswered_ = false;
  /// Changes of options that found no room.
  std::uint32_t refusedChanges_ = 0;
};

}  // namespace floodwall
