// The counts of a record, in each direction: which of its counters, and what they mean.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "flow/record_maker.h"
#include "flow/sampled_header.h"

namespace floodwall {
namespace {

/// More than any interface counts in a flow; what a rate multiplies must not overflow.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 48;

/// After as many records. IANA's registry and most exporters mean the same packets behind a middlebox, which are hardly
/// more or longer; some mean those of the way back. A tunnel lengthens packets, if short ones, to less than this
/// multiple.
constexpr std::uint8_t kBackProofs = 3;
constexpr std::uint64_t kLengthenedMost = 8;

/// A firewall's events (element 233): the end has all counts of a flow, an update those since the last update.
constexpr std::uint64_t kEventEnd = 2, kEventUpdate = 5;

bool isTotal(Slot slot) noexcept {
  return slot == Slot::totalPackets || slot == Slot::totalBytes || slot == Slot::totalLayer2Bytes ||
         slot == Slot::reverseTotalPackets || slot == Slot::reverseTotalBytes;
}

/// The bits of a counter; 64 where records have none.
std::uint8_t bitsOf(const RecordLayout& layout, Slot slot) noexcept {
  for (const NumberField& field : layout.numbers) {
    if (field.slot == slot) return static_cast<std::uint8_t>(64 - field.shift);
  }
  return 64;
}

bool isNegative(const RecordLayout& layout, Slot slot, std::uint64_t value) noexcept {
  const unsigned bits = bitsOf(layout, slot);
  return bits >= 32 && value >= (~std::uint64_t{0} >> (64 - bits)) - RecordMaker::kNegativeMost;
}

bool isMulticast(const Address& address) noexcept {
  return isIpv4Mapped(address) ? (address.bytes[12] & 0xf0) == 0xe0 : address.bytes[0] == 0xff;
}

}  // namespace

RecordMaker::CountedSlots RecordMaker::forwardSlots() const noexcept {
  const auto firstOf = [&](std::initializer_list<Slot> slots) {
    for (const Slot slot : slots) {
      if (layout_->has(slot)) return slot;
    }
    return Slot::none;
  };
  CountedSlots slots;
  slots.packets = firstOf({Slot::packets, Slot::totalPackets, Slot::initiatorPackets});
  slots.bytes = firstOf({Slot::layer2Bytes, Slot::bytes, Slot::totalLayer2Bytes, Slot::totalBytes, Slot::clientBytes,
                         Slot::initiatorBytes});
  slots.isLayer2 = slots.bytes == Slot::layer2Bytes || slots.bytes == Slot::totalLayer2Bytes;
  if (slots.bytes == Slot::layer2Bytes && layout_->has(Slot::bytes)) slots.layer3Bytes = Slot::bytes;
  slots.hasTotal = isTotal(slots.packets) || isTotal(slots.bytes);
  slots.isPayload = slots.bytes == Slot::initiatorBytes;
  return slots;
}

RecordMaker::CountedSlots RecordMaker::backwardSlots() const noexcept {
  const auto either = [&](Slot first, Slot second) {
    return layout_->has(first) ? first : layout_->has(second) ? second : Slot::none;
  };
  CountedSlots slots;
  if (template_.backProofs >= kBackProofs) return {.packets = Slot::outPackets, .bytes = Slot::outBytes};
  slots.packets = either(Slot::reversePackets, Slot::reverseTotalPackets);
  slots.bytes = either(Slot::reverseBytes, Slot::reverseTotalBytes);
  // Initiator and responder are two sides only where neither is counted in another way too.
  if (usesInitiator_) {
    slots.packets = either(Slot::responderPackets, slots.packets);
    slots.bytes = either(Slot::serverBytes, either(Slot::responderBytes, slots.bytes));
    slots.isPayload = slots.bytes == Slot::responderBytes;
  }
  return slots;
}

std::uint64_t RecordMaker::largeCounterOf(Slot slot, bool& isImpossible) const noexcept {
  isImpossible = isImpossible || isNegative(*layout_, slot, values_[slot]);
  return std::min(values_[slot], kCountMax);
}

RecordMaker::Counted RecordMaker::completed(Counted counted, const CountedSlots& slots) noexcept {
  if ((counted.packets == 0) != (counted.bytes == 0)) {
    state_.counts.estimatedRecords++;
    if (counted.packets == 0) {
      counted.packets = (counted.bytes + kEstimatedPacketBytes - 1) / kEstimatedPacketBytes;
    } else {
      counted.bytes = counted.packets * kEstimatedLeastBytes;
    }
  }
  if (slots.isPayload) counted.bytes = std::max(counted.bytes, counted.packets * kEstimatedLeastBytes);
  if (!slots.isLayer2) counted.bytes += counted.packets * kEthernetHeaderBytes;
  return counted;
}

std::uint64_t RecordMaker::flowKeyOf(const FlowRecord& made) const noexcept {
  std::uint64_t key = state_.ledger.seed();
  const auto mix = [&key](std::uint64_t more) {
    key = (key ^ more) * 0x9e3779b97f4a7c15;
    key ^= key >> 29;
  };
  const Packet& packet = made.packet;
  for (const Address* const address : {&packet.source, &packet.destination}) {
    mix(big64(address->bytes.data()));
    mix(big64(address->bytes.data() + 8));
  }
  mix(std::uint64_t{packet.sourcePort} << 32 | std::uint64_t{packet.destinationPort} << 16 | packet.protocol);
  mix(values_[Slot::input]);
  mix(values_[Slot::flowId]);
  mix(std::uint64_t{domain_.key.number} << 16 | domain_.key.port);
  return key | 1;
}

/// Replaces totals by what the flow had since its last record, and the duration by the time since.
FlowSums RecordMaker::grownBy(const FlowSums& sums, FlowRecord& made, std::uint64_t nowMs) {
  constexpr std::uint64_t kIdle = 1, kEnd = 3, kForced = 4;
  const std::uint64_t reason = values_[Slot::endReason];
  const FlowSums deltas = deltasOf(sums);
  FlowReport report{.key = flowKeyOf(made), .sums = sums - deltas};
  report.hasStart = made.startMs != 0;
  report.startMs = made.startMs;
  report.endMs = report.hasStart ? made.startMs + made.durationMs : static_cast<std::int64_t>(nowMs);
  report.reportedForMs = static_cast<std::int64_t>(times_.exportMs - state_.firstExportMs);
  report.bytesBits = bitsOf(*layout_, forward_.bytes);
  report.isOver = usesEvents_ || reason == kIdle || reason == kEnd || reason == kForced;
  const bool isUpdate = usesEvents_ && values_[Slot::event] == kEventUpdate;
  const FlowGrowth growth = isUpdate      ? state_.ledger.ofUpdate(report, nowMs)
                            : usesEvents_ ? state_.ledger.ofEnd(report, nowMs)
                                          : state_.ledger.ofTotals(report, nowMs);
  made.durationMs = growth.durationMs;
  made.key = FlowRecord::Key::partial;
  return growth.sums + deltas;
}

/// Those of the sums that are since the last record, in a template that has totals too.
FlowSums RecordMaker::deltasOf(const FlowSums& sums) const noexcept {
  if (!isOfTotals_) return {};
  const auto deltaOf = [](Slot slot, std::uint64_t sum) { return isTotal(slot) ? 0 : sum; };
  return {deltaOf(forward_.packets, sums.packets), deltaOf(forward_.bytes, sums.bytes),
          deltaOf(backward_.packets, sums.backPackets), deltaOf(backward_.bytes, sums.backBytes)};
}

RecordMaker::Both RecordMaker::countsOf(FlowRecord& made) {
  bool isImpossible = false;
  Counted there = read(forward_, isImpossible), back = hasBackward_ ? read(backward_, isImpossible) : Counted{0, 0};
  constexpr std::uint64_t kDestinationInitiates = 2;
  if (usesInitiator_ && values_[Slot::biflowDirection] == kDestinationInitiates) std::swap(there, back);
  const std::uint64_t event = values_[Slot::event];
  const bool isGrowing = isOfTotals_ || (usesEvents_ && (event == kEventUpdate || event == kEventEnd));
  if (isGrowing && !isImpossible && (there.packets | there.bytes | back.packets | back.bytes) != 0) {
    const FlowSums sums = grownBy({there.packets, there.bytes, back.packets, back.bytes}, made, nowMs_);
    there = {sums.packets, sums.bytes};
    back = {sums.backPackets, sums.backBytes};
  }
  // Some report what leaves by an interface in records of their own, with nothing in the fields of what came in.
  const bool isOut = there.packets == 0 && there.bytes == 0 && hasOut_ && !isOutBack_;
  if (isOut) there = read({.packets = Slot::outPackets, .bytes = Slot::outBytes}, isImpossible);
  made.hasImpossibleCount = isImpossible;
  return {completed(there, forward_), completed(back, backward_)};
}

RecordMaker::Counted RecordMaker::plainCountsOf(FlowRecord& made) noexcept {
  bool isImpossible = false;
  Counted counted = read(forward_, isImpossible);
  if (hasOut_) {
    const Counted out = read({.packets = Slot::outPackets, .bytes = Slot::outBytes}, isImpossible);
    if (counted.packets == 0 && counted.bytes == 0) {
      counted = out;
    } else {
      noteOut(counted, out, made);
    }
  }
  made.hasImpossibleCount = isImpossible;
  return completed(counted, forward_);
}

RecordMaker::Counted RecordMaker::read(const CountedSlots& slots, bool& isImpossible) const noexcept {
  Counted counted{counterOf(slots.packets, isImpossible), counterOf(slots.bytes, isImpossible)};
  if (counted.bytes == 0 && slots.layer3Bytes != Slot::none) {
    counted.bytes = counterOf(slots.layer3Bytes, isImpossible);
    if (counted.bytes != 0) counted.bytes += counted.packets * kEthernetHeaderBytes;
  }
  return counted;
}

void RecordMaker::noteOut(const Counted& counted, const Counted& out, const FlowRecord& made) noexcept {
  const bool isBack = counted.packets != 0 && out.packets >= counted.packets &&
                      out.bytes / kLengthenedMost > counted.bytes && !isMulticast(made.packet.destination);
  if (isBack && template_.backProofs < kBackProofs) template_.backProofs++;
}

}  // namespace floodwall
