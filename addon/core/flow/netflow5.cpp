// Datagrams of NetFlow v5: 24 bytes of header, then records of 48 bytes, for IPv4 alone.
#include <algorithm>

#include "flow/exporter_state.h"
#include "flow/flow_transport.h"
#include "flow/record_maker.h"
#include "flow/sampled_header.h"

namespace floodwall {
namespace {

constexpr std::size_t kHeader = 24, kRecord = 48;

void makeRecord(const std::uint8_t* at, std::uint32_t uptimeMs, std::uint32_t rate, Decoding& decoding) {
  FlowCounts& counts = decoding.state.counts;
  std::uint32_t packets = big32(at + 16), bytes = big32(at + 20);
  if (packets == 0 && bytes == 0) {
    counts.events++;
    return;
  }
  if (packets == 0 || bytes == 0) {
    counts.estimatedRecords++;
    constexpr auto kBytes = static_cast<std::uint32_t>(kEstimatedPacketBytes);
    if (packets == 0) packets = bytes / kBytes + (bytes % kBytes != 0 ? 1 : 0);
  }
  FlowRecord& made = decoding.batch.add();
  Packet& packet = made.packet;
  setIpv4(packet.source, at);
  setIpv4(packet.destination, at + 4);
  packet.protocol = at[38];
  made.service = at[39];
  made.key = FlowRecord::Key::whole;
  setTransport(packet, big16(at + 32), big16(at + 34), at[37]);
  made.packets = packets;
  made.bytes = (bytes != 0 ? bytes : std::uint64_t{packets} * kEstimatedLeastBytes) +
               std::uint64_t{packets} * kEthernetHeaderBytes;
  packet.wire = bytes / packets + kEthernetHeaderBytes;
  if (bytes == 0) packet.wire = static_cast<std::uint32_t>(kEstimatedLeastBytes) + kEthernetHeaderBytes;
  if (packet.isSyn && packets > 1) packet.isSyn = packet.wire <= longestSyn(packet);
  made.input = big16(at + 12);
  made.output = big16(at + 14);
  made.sourceAs = big16(at + 40);
  made.destinationAs = big16(at + 42);
  made.samplingRate = rate;
  const std::uint32_t first = big32(at + 24), last = big32(at + 28);
  if (first != 0 || last != 0) {
    made.startMs = first;
    made.durationMs = static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(last - first), 0));
    made.ageMs = static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(uptimeMs - last), 0));
  }
  counts.records++;
  counts.lateRecords += made.ageMs > kLateRecordMs ? 1 : 0;
  counts.unknownRateRecords += rate == 0 ? 1 : 0;
}

}  // namespace

void decodeNetflow5(Decoding& decoding) {
  ExporterState& state = decoding.state;
  const ByteSpan datagram = decoding.datagram;
  const std::uint32_t count = big16(&datagram[2]);
  if (datagram.size() < kHeader || count > (datagram.size() - kHeader) / kRecord) {
    refuseDatagram(decoding, 5, count);
    return;
  }
  state.datagramsByProtocol[static_cast<std::size_t>(FlowProtocol::netflow5)]++;
  state.note(FlowTrait::deltas);
  state.note(FlowTrait::uptimes);
  // Engine type and id; each counts its own flows.
  FlowDomain* const domain =
      state.domains.of({.protocol = FlowProtocol::netflow5, .number = big16(&datagram[20]), .port = decoding.port},
                       big32(&datagram[16]), decoding.nowMs);
  if (domain == nullptr) {
    state.undecoded.count(UndecodedKind::bound, big16(&datagram[20]), 0, 0);
    return;
  }
  const std::uint32_t uptimeMs = big32(&datagram[4]);
  if (!acceptDatagram(decoding, *domain, {.number = big32(&datagram[16]), .uptimeMs = uptimeMs, .hasUptime = true}))
    return;
  state.noteClock(big32(&datagram[8]) * std::uint64_t{1000} + big32(&datagram[12]) / 1'000'000, decoding.nowMs);
  // Two bits of mode, then the interval. Many that sample leave it 0, so 0 says nothing.
  const std::uint32_t inHeader = big16(&datagram[22]) & 0x3fffU;
  domain->ownRate = inHeader;
  domain->hasUnknownRate = inHeader == 0;
  state.work += count * kRecordWork;
  if (count != 0) domain->use.note(decoding.nowMs);
  for (std::size_t i = 0; i < count; i++) makeRecord(&datagram[kHeader + i * kRecord], uptimeMs, inHeader, decoding);
  domain->sequence.advance(count);
}

}  // namespace floodwall
