#include "flow/sflow_sample.h"

#include <algorithm>

#include "flow/flow_transport.h"
#include "flow/sampled_header.h"
#include "flow/sampling_rules.h"

namespace floodwall {
namespace {

/// Structures of enterprise 0; see readSample of sflow5.cpp for the bits.
constexpr std::uint32_t kRawHeader = 1, kSampledEthernet = 2, kSampledIpv4 = 3, kSampledIpv6 = 4, kGateway = 1003;
constexpr std::uint32_t kInterfaceCounters = 1, kPortName = 1005;
/// Ethernet's check sum, which sFlow's frame_length includes.
constexpr std::uint32_t kChecksumBytes = 4;

/// The head of a flow sample before its records.
struct SampleHead {
  std::uint32_t number = 0;
  std::uint32_t sourceKind = 0;
  std::uint32_t sourceIndex = 0;
  std::uint32_t rate = 0;
  std::uint32_t pool = 0;
  std::uint32_t drops = 0;
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  std::uint32_t records = 0;
};

/// ifIndex; 0 for what is no single interface: discarded, several, or within the device.
std::uint32_t interfaceOf(std::uint32_t format, std::uint32_t value, std::uint32_t internal) noexcept {
  return format == 0 && value != internal ? value : 0;
}

SampleHead readHead(XdrReader& reader, bool isExpanded) noexcept {
  SampleHead head;
  head.number = reader.u32();
  const std::uint32_t source = reader.u32();
  head.sourceKind = isExpanded ? source : source >> 24;
  head.sourceIndex = isExpanded ? reader.u32() : source & 0xffffff;
  head.rate = reader.u32();
  head.pool = reader.u32();
  head.drops = reader.u32();
  constexpr std::uint32_t kInternal = 0xffffffff, kCompactInternal = 0x3fffffff;
  for (std::uint32_t* interface : {&head.input, &head.output}) {
    const std::uint32_t first = reader.u32();
    *interface = isExpanded ? interfaceOf(first, reader.u32(), kInternal)
                            : interfaceOf(first >> 30, first & 0x3fffffff, kCompactInternal);
  }
  head.records = reader.u32();
  return head;
}

/// Sets the packet of the record by the best that the sample has.
class SampledPacket {
 public:
  /// `source` may be null.
  SampledPacket(Decoding& decoding, FlowDomain& domain, DataSource* source, FlowRecord& made)
      : state_(decoding.state), domain_(domain), source_(source), made_(made) {}

  [[nodiscard]] bool isKnown() const noexcept { return isHeader_ || isFields_; }
  [[nodiscard]] bool isHeader() const noexcept { return isHeader_; }

  void readHeader(XdrReader reader) {
    isThere_ = true;
    state_.work += kSampleWork;
    SampledHeader sampled{.protocol = reader.u32(), .bytes = {}};
    const std::uint32_t said = reader.u32(), stripped = reader.u32(), length = reader.u32();
    sampled.bytes = reader.bytes(std::min<std::size_t>(length, reader.left()));
    protocol_ = sampled.protocol;
    if (!reader.isWhole() || sampled.bytes.empty()) return refuse(ParseError::truncatedEthernet);
    // frame_length includes the bytes that the agent removed before and behind the header (sFlow v5, 5.3). For Ethernet
    // they were on the wire, as a tag, and count but for the check sum.
    const bool isEthernet = sampled.protocol == static_cast<std::uint32_t>(HeaderProtocol::ethernet);
    const std::uint32_t off = isEthernet ? kChecksumBytes : stripped;
    sampled.frameBytes = said > off ? said - off : 0;
    sampled.isLengthDoubtful = noteLength(said > stripped ? said - stripped : 0, sampled.bytes.size());
    const Packet before = made_.packet;
    const ParsedHeader parsed = parseSampledHeader(sampled, state_.decapsulated, made_);
    if (parsed.outcome != HeaderOutcome::parsed) {
      if (isFields_) made_.packet = before;
      return refuse(parsed.error);
    }
    isHeader_ = true;
  }

  void readIp(XdrReader reader, bool isIpv4) {
    isThere_ = true;
    if (isHeader_) return;
    const std::uint32_t length = reader.u32();
    const auto protocol = static_cast<std::uint8_t>(reader.u32());
    const ByteSpan source = reader.bytes(isIpv4 ? 4 : 16), destination = reader.bytes(isIpv4 ? 4 : 16);
    const std::uint32_t sourcePort = reader.u32(), destinationPort = reader.u32(), flags = reader.u32();
    if (!reader.isWhole()) return;
    Packet& packet = made_.packet;
    packet = {};
    if (isIpv4) {
      setIpv4(packet.source, source.data());
      setIpv4(packet.destination, destination.data());
    } else {
      std::copy(source.begin(), source.end(), packet.source.bytes.begin());
      std::copy(destination.begin(), destination.end(), packet.destination.bytes.begin());
      if (isIpv4Mapped(packet.source)) packet.source = {};
      protocol_ = kSampledIpv6;
      if (isIpv4Mapped(packet.destination)) return refuse(ParseError::badIpv6Header);
    }
    packet.protocol = protocol;
    packet.wire = std::min(length, 0xffffU) + kEthernetHeaderBytes;
    setTransport(packet, static_cast<std::uint16_t>(sourcePort), static_cast<std::uint16_t>(destinationPort),
                 static_cast<std::uint8_t>(flags));
    isFields_ = true;
  }

  /// Why a sample without a packet has none.
  void countRefusal() {
    if (!isThere_) return state_.counts.count(NotForUs::vendorSample);
    if (error_ == ParseError::notIp) return state_.counts.count(notForUs(made_));
    state_.undecoded.count(UndecodedKind::header, domain_.key.number, protocol_, static_cast<std::uint32_t>(error_));
  }

 private:
  void refuse(ParseError error) noexcept { error_ = error; }

  /// Whether `packetBytes`, of what the header is the beginning of, may be the header's own length.
  bool noteLength(std::uint32_t packetBytes, std::size_t header) noexcept {
    if (source_ == nullptr) return packetBytes <= header;
    source_->longestHeader = std::max(source_->longestHeader, static_cast<std::uint32_t>(header));
    source_->hasLongFrames = source_->hasLongFrames || packetBytes > header;
    return packetBytes == 0 || (!source_->hasLongFrames && header == source_->longestHeader);
  }

  ExporterState& state_;
  FlowDomain& domain_;
  DataSource* source_;
  FlowRecord& made_;
  std::uint32_t protocol_ = 0;
  ParseError error_ = ParseError::none;
  bool isThere_ = false;
  bool isHeader_ = false;
  bool isFields_ = false;
};

/// The AS numbers: of the source, and the last of the path to the destination.
void readGateway(XdrReader reader, FlowRecord& made, std::uint64_t& work) noexcept {
  constexpr std::uint32_t kIpv4 = 1, kIpv6 = 2;
  const std::uint32_t nextHopKind = reader.u32();
  reader.skip(nextHopKind == kIpv4 ? 1 : nextHopKind == kIpv6 ? 4 : 0);
  const std::uint32_t own = reader.u32(), source = reader.u32();
  reader.skip(1);
  const std::uint32_t segments = reader.u32();
  if (!reader.isWhole()) return;
  // An AS of 0 is the router's own.
  made.sourceAs = source != 0 ? source : own;
  made.destinationAs = own;
  for (std::uint32_t i = 0; i < segments && reader.isWhole(); i++) {
    work++;
    reader.skip(1);
    const std::uint32_t length = reader.u32();
    if (length == 0 || length > reader.left() / 4) return;
    reader.skip(length - 1);
    made.destinationAs = reader.u32();
  }
}

/// How many samples each one stands for, itself included, where the agent left others out (sFlow v5, 5.3: drops). The
/// pool shows that it did: some agents count something else in drops.
float standsFor(const SampleHead& head, const AgentCounts& before) noexcept {
  // An agent that restarts counts from 0 again.
  constexpr std::uint32_t kMost = 1U << 24;
  const std::uint32_t samples = head.number - before.samples, dropped = head.drops - before.drops;
  if (dropped == 0 || dropped > kMost || samples == 0 || samples > kMost || head.rate == 0) return 1;
  const auto taken = static_cast<double>(samples);
  const double seen = static_cast<double>(head.pool - before.pool) / (taken * head.rate);
  return static_cast<float>(std::clamp(seen, 1.0, 1 + dropped / taken));
}

/// Once a second, or after enough samples to know the pool's mean.
void noteResources(const SampleHead& head, DataSource& source, bool isFirst, std::uint64_t nowMs) noexcept {
  constexpr std::uint64_t kSpanMs = 1000;
  constexpr std::uint32_t kEnough = 64;
  const bool isOver = head.number - source.since.samples >= kEnough || nowMs - source.since.atMs >= kSpanMs;
  if (!isFirst && !isOver) return;
  source.standsFor = isFirst ? 1 : standsFor(head, source.since);
  source.since = {head.number, head.pool, head.drops, nowMs};
}

/// Null if there is no room. Takes a rate that cannot be out of the head.
DataSource* noteSource(Decoding& decoding, FlowDomain& domain, SampleHead& head) {
  ExporterState& state = decoding.state;
  DataSource* const source =
      state.sources.of({domain.key.agent, domain.key.number, head.sourceKind, head.sourceIndex}, decoding.nowMs);
  if (head.rate > kRateMost) {
    state.counts.impossibleRates++;
    head.rate = source == nullptr ? 0 : source->rate;
  }
  if (source == nullptr) {
    state.undecoded.count(UndecodedKind::bound, domain.key.number, head.sourceIndex, 0);
    return nullptr;
  }
  const Arrival arrival = source->sequence.arrive(head.number, decoding.nowMs, false);
  source->sequence.advance(1);
  state.counts.lostRecords += source->sequence.takeLost(decoding.nowMs);
  source->rate = head.rate;
  if (arrival == Arrival::late) return source;
  // An agent that restarts counts from 0 again.
  constexpr std::uint32_t kDropsMax = 1U << 24;
  const std::uint32_t dropped = head.drops - source->drops;
  if (source->hasDrops && dropped < kDropsMax) state.counts.droppedSamples += dropped;
  noteResources(head, *source, !source->hasDrops || arrival == Arrival::restart, decoding.nowMs);
  source->drops = head.drops;
  source->hasDrops = true;
  if (source->standsFor > 1) {
    head.rate =
        static_cast<std::uint32_t>(std::min<float>(static_cast<float>(head.rate) * source->standsFor, kRateMost));
  }
  return source;
}

void setSample(const SampleHead& head, FlowRecord& made) noexcept {
  made.packets = 1;
  made.bytes = made.packet.wire;
  made.samplingRate = head.rate;
  made.input = head.input;
  made.output = head.output;
  if (head.sourceKind != 0 || head.sourceIndex == 0 || head.input == head.output) return;
  if (head.sourceIndex == head.input) made.direction = FlowDirection::ingress;
  if (head.sourceIndex == head.output) made.direction = FlowDirection::egress;
}

}  // namespace

bool readFlowSample(Decoding& decoding, FlowDomain& domain, XdrReader& reader, bool isExpanded) {
  SampleHead head = readHead(reader, isExpanded);
  if (!reader.isWhole()) return false;
  DataSource* const source = noteSource(decoding, domain, head);
  FlowRecord& made = decoding.batch.add();
  SampledPacket packet(decoding, domain, source, made);
  for (std::uint32_t i = 0; i < head.records && reader.isWhole(); i++) {
    const std::uint32_t format = reader.u32(), length = reader.u32();
    const XdrReader record(reader.bytes(length));
    decoding.state.work += kSetWork;
    if (!reader.isWhole()) break;
    if (format == kRawHeader && !packet.isHeader()) {
      packet.readHeader(record);
    } else if (format == kSampledIpv4 || format == kSampledIpv6) {
      packet.readIp(record, format == kSampledIpv4);
    } else if (format == kGateway) {
      readGateway(record, made, decoding.state.work);
    }
  }
  if (!packet.isKnown()) {
    decoding.batch.drop();
    if (reader.isWhole()) packet.countRefusal();
    return reader.isWhole();
  }
  setSample(head, made);
  decoding.state.work += kRecordWork;
  domain.use.note(decoding.nowMs);
  FlowCounts& counts = decoding.state.counts;
  counts.records++;
  counts.unknownRateRecords += head.rate == 0 ? 1 : 0;
  return reader.isWhole();
}

bool readCounterSample(Decoding& decoding, XdrReader& reader, bool isExpanded) {
  reader.skip(1);
  const std::uint32_t source = reader.u32();
  const std::uint32_t kind = isExpanded ? source : source >> 24;
  std::uint32_t index = isExpanded ? reader.u32() : source & 0xffffff;
  // Only the interface of an interface's counters can be named.
  if (kind != 0) index = 0;
  const std::uint32_t records = reader.u32();
  ByteSpan name;
  for (std::uint32_t i = 0; i < records && reader.isWhole(); i++) {
    const std::uint32_t format = reader.u32(), length = reader.u32();
    XdrReader record(reader.bytes(length));
    decoding.state.work += kSetWork;
    if (format == kInterfaceCounters && record.left() >= 4) index = record.u32();
    if (format == kPortName) name = record.bytes(record.u32());
  }
  const bool isChanged =
      index != 0 && !name.empty() &&
      decoding.state.interfaces.set(index, name, true, decoding.nowMs) == InterfaceNames::Stored::changed;
  decoding.state.lastingVersion += isChanged ? 1 : 0;
  decoding.state.counts.otherRecords++;
  return reader.isWhole();
}

}  // namespace floodwall
