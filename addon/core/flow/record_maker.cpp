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

std::uint8_t tcpFlagsOf(std::uint64_t flags) noexcept { return static_cast<std::uint8_t>(flags); }

FlowDirection directionOf(const RecordLayout& layout, std::uint64_t value) noexcept {
  if (!layout.has(Slot::direction)) return FlowDirection::unknown;
  return value == 0 ? FlowDirection::ingress : value == 1 ? FlowDirection::egress : FlowDirection::unknown;
}

}  // namespace

RecordMaker::RecordMaker(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate, const MessageTimes& times)
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
  hasOut_ = layout.has(Slot::outPackets) || layout.has(Slot::outBytes);
  backward_ = backwardSlots();
  isOutBack_ = backward_.packets == Slot::outPackets;
  hasBackward_ = backward_.packets != Slot::none || backward_.bytes != Slot::none;
  hasSampledPacket_ =
      layout.part(Part::frame).length != 0 || layout.part(Part::ipPacket).length != 0 || layout.has(Slot::ipLength);
  isOfTotals_ = forward_.hasTotal;
  usesEvents_ = usesInitiator_ && layout.has(Slot::event);
  hasPlainPacket_ = namesOnlyIpv4(layout);
  hasPlainCounts_ = !hasBackward_ && !isOfTotals_ && !usesInitiator_;
  hasUptimes_ = layout.start == TimeForm::uptimeMs && layout.end == TimeForm::uptimeMs;
  key_ = keyKind();
  const SamplingTable& samplings = state_.samplings;
  sampler_ = layout.has(Slot::sampler) ? Slot::sampler : layout.has(Slot::selector) ? Slot::selector : Slot::none;
  hasParts_ = samplings.has(SamplingScope::part) && (layout.has(Slot::lineCard) || layout.has(Slot::meteringProcess));
  hasInterfaceRates_ = samplings.has(SamplingScope::interface);
  isAnswered_ = false;
  const bool isByRecord = sampler_ != Slot::none || hasParts_ || hasInterfaceRates_;
  hasRateEach_ = template_.hasRate || (isByRecord && !samplings.isEmpty());
  if (!hasRateEach_) setRate_ = samplings.rateOf(domain_.key, {.flowTemplate = template_.id});
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
  made.direction =
      usesInitiator_ || isOutBack_ ? FlowDirection::unknown : directionOf(*layout_, values_[Slot::direction]);
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
  return rateByOptions();
}

std::uint32_t RecordMaker::rateByOptions() {
  const std::uint64_t sampler = values_[sampler_];
  const Slot side = values_[Slot::direction] == 1 ? Slot::output : Slot::input;
  const std::uint32_t interface = hasInterfaceRates_ ? values_.u32(side) : 0;
  const std::uint64_t part = hasParts_ ? partIn(*layout_, values_) : 0;
  const bool isSame = sampler == asked_.sampler && interface == asked_.interface && part == asked_.part;
  if (isSame && isAnswered_) return answeredRate_;
  asked_ = {.sampler = sampler,
            .part = part,
            .interface = interface,
            .flowTemplate = template_.id,
            .hasSampler = sampler_ != Slot::none};
  answeredRate_ = state_.samplings.rateOf(domain_.key, asked_);
  isAnswered_ = true;
  return answeredRate_;
}

void RecordMaker::finish(FlowRecord& made) noexcept {
  FlowCounts& counts = state_.counts;
  counts.records++;
  counts.lateRecords += made.ageMs > kLateRecordMs ? 1 : 0;
  counts.unknownRateRecords += made.samplingRate == 0 ? 1 : 0;
  domain_.hasUnknownRate = made.samplingRate == 0;
}

}  // namespace floodwall
