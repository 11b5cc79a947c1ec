// Datagrams of sFlow v5.
#include "flow/sflow_sample.h"

namespace floodwall {
namespace {

constexpr std::uint32_t kFlowSample = 1, kCounterSample = 2, kExpandedFlowSample = 3, kExpandedCounterSample = 4;
/// sFlow's extension for dropped packets (sflow_drops.txt of sflow.org).
constexpr std::uint32_t kDiscardedPacket = 5;

/// A number for the agent, whose address need not be the sender's.
std::uint64_t agentOf(ByteSpan address) noexcept {
  if (address.size() == 4) return big32(address.data());
  return address.size() == 16 ? big64(address.data()) * 0x9e3779b97f4a7c15 ^ big64(&address[8]) : 0;
}

void readSample(Decoding& decoding, FlowDomain& domain, std::uint32_t format, ByteSpan content) {
  XdrReader reader(content);
  bool isWhole = true;
  decoding.state.work += kSampleWork;
  switch (format) {
    case kFlowSample:
    case kExpandedFlowSample:
      isWhole = readFlowSample(decoding, domain, reader, format == kExpandedFlowSample);
      break;
    case kCounterSample:
    case kExpandedCounterSample:
      isWhole = readCounterSample(decoding, reader, format == kExpandedCounterSample);
      break;
    case kDiscardedPacket:
      decoding.state.counts.count(NotForUs::discardedSample);
      break;
    default:
      // 20 bits of enterprise, 12 of format.
      if (format >> 12 != 0) {
        decoding.state.counts.count(NotForUs::vendorSample);
        decoding.state.noteVendor(format >> 12);
      } else {
        decoding.state.undecoded.count(UndecodedKind::sampleFormat, 0, format, 0);
      }
  }
  if (isWhole) return;
  decoding.state.undecoded.count(UndecodedKind::truncatedRecord, domain.key.number, format,
                                 static_cast<std::uint32_t>(content.size()));
}

}  // namespace

void decodeSflow5(Decoding& decoding) {
  constexpr std::uint32_t kIpv4 = 1, kIpv6 = 2;
  ExporterState& state = decoding.state;
  XdrReader reader(decoding.datagram.subspan(4));
  const std::uint32_t addressKind = reader.u32();
  const ByteSpan agent = reader.bytes(addressKind == kIpv4 ? 4 : addressKind == kIpv6 ? 16 : 0);
  const std::uint32_t subAgent = reader.u32();
  SequenceMark mark{.number = reader.u32()};
  mark.uptimeMs = reader.u32();
  mark.hasUptime = true;
  const std::uint32_t samples = reader.u32();
  if (!reader.isWhole()) {
    refuseDatagram(decoding, 5, addressKind);
    return;
  }
  state.datagramsByProtocol[static_cast<std::size_t>(FlowProtocol::sflow5)]++;
  state.note(FlowTrait::packets);
  FlowDomain* const domain = state.domains.of(
      {.protocol = FlowProtocol::sflow5, .number = subAgent, .agent = agentOf(agent)}, mark.number, decoding.nowMs);
  if (domain == nullptr) {
    state.undecoded.count(UndecodedKind::bound, subAgent, 0, 0);
    return;
  }
  if (!acceptDatagram(decoding, *domain, mark)) return;
  domain->sequence.advance(1);
  // A count that lies ends with the datagram.
  for (std::uint32_t i = 0; i < samples; i++) {
    const std::uint32_t format = reader.u32(), length = reader.u32();
    const std::size_t left = reader.left();
    const ByteSpan content = reader.bytes(length);
    if (!reader.isWhole()) {
      state.undecoded.count(UndecodedKind::length, subAgent, format, left < length ? length : 0);
      return;
    }
    readSample(decoding, *domain, format, content);
  }
}

}  // namespace floodwall
