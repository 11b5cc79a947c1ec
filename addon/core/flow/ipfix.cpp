// Messages of IPFIX (RFC 7011) over UDP.
#include "flow/exporter_state.h"
#include "flow/flow_sets.h"

namespace floodwall {

void decodeIpfix(Decoding& decoding) {
  constexpr std::size_t kHeader = 16;
  ExporterState& state = decoding.state;
  const ByteSpan datagram = decoding.datagram;
  const std::uint16_t length = big16(&datagram[2]);
  if (length < kHeader || length > datagram.size()) {
    refuseDatagram(decoding, 10, length);
    return;
  }
  state.datagramsByProtocol[static_cast<std::size_t>(FlowProtocol::ipfix)]++;
  const std::uint32_t number = big32(&datagram[12]);
  FlowDomain* const domain = state.domains.of(
      {.protocol = FlowProtocol::ipfix, .number = number, .port = decoding.port}, big32(&datagram[8]), decoding.nowMs);
  if (domain == nullptr) {
    state.undecoded.count(UndecodedKind::bound, number, 0, 0);
    return;
  }
  const MessageTimes times{.exportMs = big32(&datagram[4]) * std::uint64_t{1000}};
  const SequenceMark mark{.number = big32(&datagram[8]), .exportMs = times.exportMs};
  if (!acceptDatagram(decoding, *domain, mark)) return;
  state.noteClock(times.exportMs, decoding.nowMs);
  const SetsRead read = readSets(decoding, *domain, datagram.first(length).subspan(kHeader), times);
  // One message a datagram (RFC 7011, 10.3); what follows it cannot be decoded.
  if (length < datagram.size()) refuseDatagram(decoding, 10, length);
  if (read.isComplete) {
    domain->sequence.advance(read.records);
  } else {
    domain->sequence.advanceUnknown();
  }
}

}  // namespace floodwall
