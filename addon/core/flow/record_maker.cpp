#include "flow/record_maker.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "flow/flow_transport.h"
#include "flow/record_addresses.h"
#include "flow/sampled_header.h"
#include "flow/sampling_rules.h"

namespace floodwall {
namespace {

/// More than any interface counts in a flow; what a rate multiplies must not overflow.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 48;

/// A firewall's events (element 233): the end has all counts of a flow, an update those since the last update.
constexpr std::uint64_t kEventEnd = 2, kEventUpdate = 5;

bool isTotal(Slot slot) noexcept {
  return slot == Slot::totalPackets || slot == Slot::totalBytes || slot == Slot::totalLayer2Bytes ||
         slot == Slot::reverseTotalPackets || slot == Slot::reverseTotalBytes;
}

/// Of a counter; 64 where records have none.
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

std::uint8_t tcpFlagsOf(std::uint64_t flags) noexcept { return static_cast<std::uint8_t>(flags); }

FlowDirection directionOf(const RecordLayout& layout, std::uint64_t value) noexcept {
  if (!layout.has(Slot::direction)) return FlowDirection::unknown;
  return value == 0 ? FlowDirection::ingress : value == 1 ? FlowDirection::egress : FlowDirection::unknown;
}

}  // namespace

RecordMaker::RecordMaker(Decoding& decoding, FlowDomain& domain, const FlowTemplate& flowTemplate,
                         const MessageTimes& times)
    : state_(decoding.state),
      batch_(decoding.batch),
      domain_(domain),
      template_(flowTemplate),
      changesLeft_(decoding.changesLeft),
      times_(times),
      nowMs_(decoding.nowMs) {
  // IPFIX has no uptime in its header: it may follow from the time at which it began (RFC 7011, 3.1 and 161).
  if (!times_.hasUptime && domain.systemInitMs != 0 && times_.exportMs >= domain.systemInitMs) {
    times_.uptimeMs = static_cast<std::uint32_t>(times_.exportMs - domain.systemInitMs);
    times_.hasUptime = true;
  }
}

void RecordMaker::useLayout(const RecordLayout& layout) {
  layout_ = &layout;
  values_.clear();
  forward_ = forwardSlots();
  usesInitiator_ = forward_.packets == Slot::initiatorPackets || forward_.bytes == Slot::initiatorBytes ||
                   forward_.bytes == Slot::clientBytes;
  backward_ = backwardSlots();
  hasOut_ = layout.has(Slot::outPackets) || layout.has(Slot::outBytes);
  hasBackward_ = backward_.packets != Slot::none || backward_.bytes != Slot::none;
  hasSampledPacket_ =
      layout.part(Part::frame).length != 0 || layout.part(Part::ipPacket).length != 0 || layout.has(Slot::ipLength);
  isOfTotals_ = isTotal(forward_.packets) || isTotal(forward_.bytes);
  usesEvents_ = usesInitiator_ && layout.has(Slot::event);
  hasPlainPacket_ = namesOnlyIpv4(layout);
  hasPlainCounts_ = !hasBackward_ && !isOfTotals_ && !usesInitiator_;
  hasUptimes_ = layout.start == TimeForm::uptimeMs && layout.end == TimeForm::uptimeMs;
  key_ = keyKind();
  const bool isByRecord =
      layout.has(Slot::sampler) || layout.has(Slot::selector) || state_.samplings.has(SamplingScope::interface);
  hasRateEach_ = template_.hasRate || (isByRecord && !state_.samplings.isEmpty());
  if (!hasRateEach_) setRate_ = state_.samplings.rateOf(domain_.key, {.flowTemplate = template_.id});
}

FlowRecord::Key RecordMaker::keyKind() const noexcept {
  const auto hasOne = [&](std::initializer_list<Slot> slots) {
    return std::any_of(slots.begin(), slots.end(), [&](Slot slot) { return layout_->has(slot); });
  };
  const bool hasHosts = (layout_->part(Part::source4).length != 0 && layout_->part(Part::destination4).length != 0) ||
                        (layout_->part(Part::source6).length != 0 && layout_->part(Part::destination6).length != 0);
  const bool hasPorts = hasOne({Slot::sourcePort, Slot::udpSourcePort, Slot::tcpSourcePort}) &&
                        hasOne({Slot::destinationPort, Slot::udpDestinationPort, Slot::tcpDestinationPort});
  const bool hasAge = layout_->end != TimeForm::none && (layout_->end != TimeForm::uptimeMs || times_.hasUptime);
  if (!hasHosts || !hasPorts || !hasAge || !layout_->has(Slot::protocol)) return FlowRecord::Key::partial;
  const bool isWhole = layout_->has(Slot::service) && layout_->has(Slot::input);
  return isWhole ? FlowRecord::Key::whole : FlowRecord::Key::ports;
}

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
  slots.isPayload = slots.bytes == Slot::initiatorBytes;
  return slots;
}

RecordMaker::CountedSlots RecordMaker::backwardSlots() const noexcept {
  const auto either = [&](Slot first, Slot second) {
    return layout_->has(first) ? first : layout_->has(second) ? second : Slot::none;
  };
  CountedSlots slots;
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

void RecordMaker::setCounts(Counted counted, FlowRecord& made) noexcept {
  made.packets = counted.packets;
  made.bytes = counted.bytes;
  // Both fit 32 bits in all but a few records, and a division of those is cheaper.
  const bool isSmall = (counted.bytes | counted.packets) >> 32 == 0;
  const std::uint64_t mean =
      isSmall ? static_cast<std::uint32_t>(counted.bytes) / static_cast<std::uint32_t>(counted.packets)
              : counted.bytes / counted.packets;
  Packet& packet = made.packet;
  // Never 0, whatever an exporter says.
  packet.wire = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(mean, 1, 0xffffffff));
  if (packet.isSyn && counted.packets > 1) packet.isSyn = packet.wire <= longestSyn(packet);
}

bool RecordMaker::setSampledPacket(const std::uint8_t* record, FlowRecord& made, Counted& counted) {
  const PartField frame = layout_->part(Part::frame), ip = layout_->part(Part::ipPacket);
  const std::uint64_t layer2Bytes = std::min<std::uint64_t>(values_[Slot::frameSize], 0xffffffff);
  std::uint32_t ipBytes = values_.u32(Slot::ipLength);
  if (frame.length != 0 || ip.length != 0) {
    const bool isFrame = frame.length != 0;
    const ByteSpan header{record + (isFrame ? frame.offset : ip.offset), isFrame ? frame.length : ip.length};
    if (!isFrame && ipBytes == 0) ipBytes = ipLengthOf(header);
    std::uint64_t length = isFrame ? layer2Bytes : ipBytes;
    if (length == 0 && counted.packets != 0) length = counted.bytes / counted.packets;
    const auto protocol = static_cast<std::uint32_t>(isFrame ? HeaderProtocol::ethernet : HeaderProtocol::ipv4);
    const auto said = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, 0xffffff));
    made.packet = {};
    made.outerBytes = 0;
    const ParsedHeader parsed =
        parseSampledHeader({.protocol = protocol, .bytes = header, .frameBytes = said, .isLengthDoubtful = said == 0},
                           state_.decapsulated, made);
    if (parsed.error == ParseError::notIp) {
      state_.counts.count(notForUs(made));
      return false;
    }
    if (parsed.outcome != HeaderOutcome::parsed) {
      state_.undecoded.count(UndecodedKind::header, domain_.key.number, protocol,
                             static_cast<std::uint32_t>(parsed.error));
      return false;
    }
    if (counted.packets == 0) counted = {1, made.packet.wire};
    return true;
  }
  // A report of one packet without counters (RFC 5476, 6.4.2).
  if (counted.packets == 0 && ipBytes != 0) counted = {1, std::uint64_t{ipBytes} + kEthernetHeaderBytes};
  return false;
}

RecordMaker::Both RecordMaker::countsOf(FlowRecord& made) {
  bool isImpossible = false;
  const auto read = [&](const CountedSlots& slots) {
    return Counted{counterOf(slots.packets, isImpossible), counterOf(slots.bytes, isImpossible)};
  };
  Counted there = read(forward_), back = hasBackward_ ? read(backward_) : Counted{0, 0};
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
  if (there.packets == 0 && there.bytes == 0 && hasOut_) there = read({Slot::outPackets, Slot::outBytes, false});
  made.hasImpossibleCount = isImpossible;
  return {completed(there, forward_), completed(back, backward_)};
}

RecordMaker::Counted RecordMaker::plainCountsOf(FlowRecord& made) noexcept {
  bool isImpossible = false;
  Counted counted{counterOf(forward_.packets, isImpossible), counterOf(forward_.bytes, isImpossible)};
  if (hasOut_ && counted.packets == 0 && counted.bytes == 0) {
    counted = {counterOf(Slot::outPackets, isImpossible), counterOf(Slot::outBytes, isImpossible)};
  }
  made.hasImpossibleCount = isImpossible;
  return completed(counted, forward_);
}

void RecordMaker::countWithoutPacket(const RecordLayout& layout, std::uint32_t records) {
  state_.work += kReasonWork;
  if (namesHosts(layout)) {
    state_.undecoded.count(UndecodedKind::withoutAddress, domain_.key.number, template_.id, 0, records);
  } else {
    state_.counts.count(NotForUs::layer2Record, records);
  }
}

void RecordMaker::setTimes(FlowRecord& made) const noexcept {
  FlowTimes times;
  if (hasUptimes_) {
    times = uptimesOf(values_.u32(Slot::start), values_.u32(Slot::end), times_);
    times.ageMs += std::min(times_.waitedMs, ~times.ageMs);
  } else {
    times = timesOf(*layout_, values_, times_);
  }
  made.durationMs = times.durationMs;
  made.ageMs = times.ageMs;
  made.startMs = times.startMs;
  made.key = key_;
}

void RecordMaker::makeFlow(const std::uint8_t* record) {
  values_.load(*layout_, record);
  FlowRecord& made = batch_.add();
  setTimes(made);
  bool hasHosts = true;
  if (hasPlainPacket_) {
    setPlainPacket(*layout_, values_, record, made.packet);
  } else {
    hasHosts = setPacket(*layout_, values_, record, made);
  }
  Both both = hasPlainCounts_ ? Both{plainCountsOf(made), {}} : countsOf(made);
  const bool isSampledPacket = hasSampledPacket_ && setSampledPacket(record, made, both.there);
  if (both.there.packets == 0 && both.back.packets == 0) {
    batch_.drop();
    state_.counts.events++;
    return;
  }
  if (!isSampledPacket && !hasHosts) {
    batch_.drop();
    // A header that cannot be parsed is counted as that.
    const bool hasPacket = layout_->part(Part::frame).length != 0 || layout_->part(Part::ipPacket).length != 0;
    if (!hasPacket) countWithoutPacket(*layout_, 1);
    return;
  }
  setRest(made);
  if (both.back.packets != 0) {
    // add() may hand the batch on, and `made` with it.
    const FlowRecord copy = made;
    if (both.there.packets == 0) batch_.drop();
    if (both.there.packets != 0) {
      setCounts(both.there, made);
      finish(made);
    }
    addBackward(copy, both.back);
    return;
  }
  setCounts(both.there, made);
  finish(made);
}

void RecordMaker::setRest(FlowRecord& made) noexcept {
#define IN_RECORD(name, bits, ...) made.name = static_cast<std::uint##bits##_t>(values_[Slot::name]);
#include "flow_fields_abi.h"
  if (made.input == 0) made.input = values_.u32(Slot::physicalInput);
  if (made.output == 0) made.output = values_.u32(Slot::physicalOutput);
  // A connection has one record for both ways.
  made.direction = usesInitiator_ ? FlowDirection::unknown : directionOf(*layout_, values_[Slot::direction]);
  made.samplingRate = hasRateEach_ ? rateOf() : setRate_;
}

void RecordMaker::addBackward(const FlowRecord& forward, Counted counted) {
  FlowRecord& made = batch_.add();
  made = forward;
  Packet& packet = made.packet;
  std::swap(packet.source, packet.destination);
  std::swap(packet.sourcePort, packet.destinationPort);
#define IN_RECORD(name, bits, back, ...) made.name = forward.back;
#include "flow_fields_abi.h"
  if (made.outerBytes != 0) std::swap(made.outerSource, made.outerDestination);
  if (made.outerDestination == nullptr) made.outerBytes = 0;
  // The record's is that of the forward half, and no other record reports this one (RFC 5103, 4).
  made.direction = FlowDirection::unknown;
  made.header = nullptr;
  made.headerBytes = 0;
  // The flags that a record has without saying of which side are those of both: none of them is this side's for sure.
  packet.tcpFlags = 0;
  packet.isSyn = false;
  setTransport(packet, packet.sourcePort, packet.destinationPort, tcpFlagsOf(values_[Slot::reverseTcpFlags]));
  setCounts(counted, made);
  finish(made);
}

std::uint32_t RecordMaker::rateOf() noexcept {
  if (template_.hasRate) {
    const SaidRate said = rateIn(*layout_, values_, RatePlace::flowRecord);
    if (said.isImpossible) state_.counts.impossibleRates++;
    if (said.rate != 0) domain_.ownRate = said.rate;
    // One that cannot be does not undo what was said before.
    if (said.rate != 0 || (said.isImpossible && domain_.ownRate != 0)) return domain_.ownRate;
  }
  const bool hasSampler = layout_->has(Slot::sampler);
  const bool isEgress = directionOf(*layout_, values_[Slot::direction]) == FlowDirection::egress;
  return state_.samplings.rateOf(domain_.key, {.sampler = values_[hasSampler ? Slot::sampler : Slot::selector],
                                               .interface = values_.u32(isEgress ? Slot::output : Slot::input),
                                               .flowTemplate = template_.id,
                                               .hasSampler = hasSampler || layout_->has(Slot::selector)});
}

void RecordMaker::finish(FlowRecord& made) noexcept {
  FlowCounts& counts = state_.counts;
  counts.records++;
  counts.lateRecords += made.ageMs > kLateRecordMs ? 1 : 0;
  counts.unknownRateRecords += made.samplingRate == 0 ? 1 : 0;
  domain_.hasUnknownRate = made.samplingRate == 0;
}

}  // namespace floodwall
