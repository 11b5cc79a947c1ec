#include "flow/record_maker.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "flow/flow_transport.h"
#include "flow/sampled_header.h"

namespace floodwall {
namespace {

/// More than any interface counts in a flow; what a rate multiplies must not overflow.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 48;

std::uint8_t tcpFlagsOf(std::uint64_t flags) noexcept { return static_cast<std::uint8_t>(flags); }

FlowDirection directionOf(const RecordLayout& layout, std::uint64_t value) noexcept {
  if (!layout.has(Slot::direction)) return FlowDirection::unknown;
  return value == 0 ? FlowDirection::ingress : value == 1 ? FlowDirection::egress : FlowDirection::unknown;
}

bool isZero(const std::uint8_t* bytes, std::size_t length) noexcept {
  return std::all_of(bytes, bytes + length, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

RecordMaker::RecordMaker(Decoding& decoding, FlowDomain& domain, const FlowTemplate& flowTemplate,
                         const MessageTimes& times)
    : state_(decoding.state), batch_(decoding.batch), domain_(domain), template_(flowTemplate), times_(times) {
  // IPFIX has no uptime in its header: it may be told from the time at which it began (RFC 7011, 3.1 and 161).
  if (!times_.hasUptime && domain.systemInitMs != 0 && times_.exportMs >= domain.systemInitMs) {
    times_.uptimeMs = static_cast<std::uint32_t>(times_.exportMs - domain.systemInitMs);
    times_.hasUptime = true;
  }
}

void RecordMaker::useLayout(const RecordLayout& layout) {
  layout_ = &layout;
  values_.clear();
  forward_ = forwardSlots();
  backward_ = backwardSlots();
  hasOut_ = layout.has(Slot::outPackets) || layout.has(Slot::outBytes);
  hasBackward_ = backward_.packets != Slot::none || backward_.bytes != Slot::none;
  hasSampledPacket_ =
      layout.part(Part::frame).length != 0 || layout.part(Part::ipPacket).length != 0 || layout.has(Slot::ipLength);
  hasRateEach_ = template_.hasRate || layout.has(Slot::sampler) || layout.has(Slot::selector) ||
                 state_.samplings.has(SamplingScope::interface);
  if (!hasRateEach_) setRate_ = state_.samplings.rateOf(domain_.key, {.flowTemplate = template_.id});
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
  slots.bytes =
      firstOf({Slot::layer2Bytes, Slot::bytes, Slot::totalLayer2Bytes, Slot::totalBytes, Slot::initiatorBytes});
  slots.isLayer2 = slots.bytes == Slot::layer2Bytes || slots.bytes == Slot::totalLayer2Bytes;
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
  if (forward_.bytes == Slot::initiatorBytes || forward_.packets == Slot::initiatorPackets) {
    slots.packets = either(Slot::responderPackets, slots.packets);
    slots.bytes = either(Slot::responderBytes, slots.bytes);
  }
  return slots;
}

RecordMaker::Counted RecordMaker::counted(const CountedSlots& slots) noexcept {
  Counted counted{std::min(values_[slots.packets], kCountMax), std::min(values_[slots.bytes], kCountMax)};
  if ((counted.packets == 0) != (counted.bytes == 0)) {
    state_.counts.estimatedRecords++;
    if (counted.packets == 0) {
      counted.packets = (counted.bytes + kEstimatedPacketBytes - 1) / kEstimatedPacketBytes;
    } else {
      counted.bytes = counted.packets * kEstimatedLeastBytes;
    }
  }
  if (!slots.isLayer2) counted.bytes += counted.packets * kEthernetHeaderBytes;
  return counted;
}

bool RecordMaker::setAddresses(const std::uint8_t* record, Packet& packet) const noexcept {
  const PartField four = layout_->part(Part::destination4), six = layout_->part(Part::destination6);
  bool isFour = four.length != 0;
  // A template for both families leaves the addresses of the other zero.
  if (isFour && six.length != 0) {
    isFour = layout_->has(Slot::ipVersion) ? values_[Slot::ipVersion] != 6 : isZero(record + six.offset, 16);
  }
  if (isFour) {
    const PartField source = layout_->part(Part::source4);
    setIpv4(packet.destination, record + four.offset);
    if (source.length != 0) setIpv4(packet.source, record + source.offset);
    return true;
  }
  if (six.length == 0) return false;
  std::memcpy(packet.destination.bytes.data(), record + six.offset, 16);
  // As the packet parser: what is not IPv4 must not be taken for the IPv4 host.
  if (isMappedIpv4(packet.destination)) return false;
  if (const PartField source = layout_->part(Part::source6); source.length != 0) {
    std::memcpy(packet.source.bytes.data(), record + source.offset, 16);
    if (isMappedIpv4(packet.source)) packet.source = {};
  }
  return true;
}

void RecordMaker::setFields(FlowRecord& made) const noexcept {
  Packet& packet = made.packet;
  packet.protocol = static_cast<std::uint8_t>(values_[Slot::protocol]);
  constexpr std::uint64_t kMoreFragments = 0x20, kOffsetMask = 0x1fff;
  const std::uint64_t offset = values_[Slot::fragmentOffset] & kOffsetMask;
  packet.isLaterFragment = offset != 0;
  packet.isFragment = offset != 0 || (values_[Slot::fragmentFlags] & kMoreFragments) != 0;
  const std::uint64_t source = values_[Slot::sourcePort] | values_[Slot::udpSourcePort] | values_[Slot::tcpSourcePort];
  const std::uint64_t destination =
      values_[Slot::destinationPort] | values_[Slot::udpDestinationPort] | values_[Slot::tcpDestinationPort];
  setTransport(packet, static_cast<std::uint16_t>(source), static_cast<std::uint16_t>(destination),
               tcpFlagsOf(values_[Slot::tcpFlags]));
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
    const ParsedHeader parsed = parseSampledHeader(protocol, header, said, state_.decapsulated, made);
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

void RecordMaker::makeFlow(const std::uint8_t* record) {
  values_.load(*layout_, record);
  Counted forward = counted(forward_);
  // Some tell what leaves by an interface in records of their own, with nothing in the fields of what came in.
  if (forward.packets == 0 && hasOut_) forward = counted({Slot::outPackets, Slot::outBytes, false});
  const Counted backward = hasBackward_ ? counted(backward_) : Counted{0, 0};
  FlowRecord& made = batch_.add();
  const bool isSampledPacket = hasSampledPacket_ && setSampledPacket(record, made, forward);
  if (forward.packets == 0 && backward.packets == 0) {
    batch_.drop();
    state_.counts.events++;
    return;
  }
  if (!isSampledPacket) {
    if (!setAddresses(record, made.packet)) {
      batch_.drop();
      // A header that cannot be parsed is counted as that.
      const bool hasHeader = layout_->part(Part::frame).length != 0 || layout_->part(Part::ipPacket).length != 0;
      if (!hasHeader) state_.undecoded.count(UndecodedKind::withoutAddress, domain_.key.number, template_.id, 0);
      return;
    }
    setFields(made);
  }
  made.input = values_.u32(Slot::input) != 0 ? values_.u32(Slot::input) : values_.u32(Slot::physicalInput);
  made.output = values_.u32(Slot::output) != 0 ? values_.u32(Slot::output) : values_.u32(Slot::physicalOutput);
  made.sourceAs = values_.u32(Slot::sourceAs);
  made.destinationAs = values_.u32(Slot::destinationAs);
  made.direction = directionOf(*layout_, values_[Slot::direction]);
  made.samplingRate = hasRateEach_ ? rateOf() : setRate_;
  const FlowTimes times = timesOf(*layout_, values_, times_);
  made.durationMs = times.durationMs;
  made.ageMs = times.ageMs;
  if (backward.packets != 0) {
    // add() may hand the batch on, and `made` with it.
    const FlowRecord copy = made;
    if (forward.packets == 0) batch_.drop();
    if (forward.packets != 0) {
      setCounts(forward, made);
      finish(made);
    }
    addBackward(copy, backward);
    return;
  }
  setCounts(forward, made);
  finish(made);
}

void RecordMaker::addBackward(const FlowRecord& forward, Counted counted) {
  FlowRecord& made = batch_.add();
  made = forward;
  Packet& packet = made.packet;
  std::swap(packet.source, packet.destination);
  std::swap(packet.sourcePort, packet.destinationPort);
  std::swap(made.input, made.output);
  std::swap(made.sourceAs, made.destinationAs);
  // The record's is that of the forward half, and no other record tells of this one (RFC 5103, 4).
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

std::uint32_t RecordMaker::rateOf() const noexcept {
  if (template_.hasRate) {
    if (const std::uint32_t rate = rateIn(*layout_, values_); rate != 0) {
      domain_.ownRate = rate;
      return rate;
    }
  }
  const bool hasSampler = layout_->has(Slot::sampler);
  return state_.samplings.rateOf(domain_.key, {.sampler = values_[hasSampler ? Slot::sampler : Slot::selector],
                                               .interface = values_.u32(Slot::input),
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

void RecordMaker::readOptions(const std::uint8_t* record) {
  values_.load(*layout_, record);
  state_.counts.otherRecords++;
  const bool hasScope = layout_->has(Slot::scopeInterface);
  const auto interface = values_.u32(hasScope ? Slot::scopeInterface : Slot::input);
  for (const Part part : {Part::name, Part::description}) {
    const PartField name = layout_->part(part);
    if (name.length == 0) continue;
    // Without a number it is the name of something else, as of a sampler.
    if (hasScope || layout_->has(Slot::input)) state_.interfaces.set(interface, {record + name.offset, name.length});
    break;
  }
  if (layout_->has(Slot::systemInitMs)) domain_.systemInitMs = values_[Slot::systemInitMs];
  if (!template_.hasRate) return;
  std::uint32_t rate = rateIn(*layout_, values_);
  // An interval of 0 without an algorithm: an exporter that says that it does not sample.
  const bool saysNone = layout_->has(Slot::samplingInterval) && values_[Slot::samplingInterval] == 0 &&
                        values_[Slot::samplingAlgorithm] == 0;
  if (rate == 0 && saysNone) rate = 1;
  if (rate == 0) return;
  SamplingScope scope = SamplingScope::domain;
  std::uint64_t id = 0;
  if (layout_->has(Slot::sampler) || layout_->has(Slot::selector)) {
    scope = SamplingScope::sampler;
    id = values_[layout_->has(Slot::sampler) ? Slot::sampler : Slot::selector];
  } else if (interface != 0) {
    scope = SamplingScope::interface;
    id = interface;
  } else if (layout_->has(Slot::scopeTemplate)) {
    scope = SamplingScope::flowTemplate;
    id = values_[Slot::scopeTemplate];
  }
  if (!state_.samplings.set(domain_.key, scope, id, rate)) {
    state_.undecoded.count(UndecodedKind::bound, domain_.key.number, template_.id, 0);
  }
}

}  // namespace floodwall
