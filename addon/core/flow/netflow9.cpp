// Messages of NetFlow v9 (RFC 3954).
#include "flow/exporter_state.h"
#include "flow/flow_sets.h"

namespace floodwall {
namespace {

/// After this number of gaps in a row that are as long as the datagram before had records, an exporter counts records,
/// where RFC 3954 has it count datagrams.
constexpr std::uint8_t kGapsOfRecords = 4;

void noteGap(FlowDomain& domain) noexcept {
  if (domain.countsRecords) return;
  if (domain.sequence.skipped() == 0) {
    if (domain.lastUnits > 1) domain.gapsOfRecords = 0;
    return;
  }
  const bool isOfRecords = domain.lastUnits > 1 && domain.sequence.skipped() + 1 == domain.lastUnits;
  domain.gapsOfRecords = isOfRecords ? static_cast<std::uint8_t>(domain.gapsOfRecords + 1) : std::uint8_t{0};
  if (domain.gapsOfRecords < kGapsOfRecords) return;
  domain.countsRecords = true;
  domain.sequence.forgetGaps();
}

}  // namespace

void decodeNetflow9(Decoding& decoding) {
  constexpr std::size_t kHeader = 20;
  ExporterState& state = decoding.state;
  const ByteSpan datagram = decoding.datagram;
  if (datagram.size() < kHeader) {
    refuseDatagram(decoding, 9, big16(&datagram[2]));
    return;
  }
  state.datagramsByProtocol[static_cast<std::size_t>(FlowProtocol::netflow9)]++;
  const std::uint32_t uptimeMs = big32(&datagram[4]), number = big32(&datagram[16]);
  const MessageTimes times{
      .exportMs = big32(&datagram[8]) * std::uint64_t{1000}, .uptimeMs = uptimeMs, .hasUptime = true};
  FlowDomain* const domain =
      state.domains.of({.protocol = FlowProtocol::netflow9, .number = number, .port = decoding.port},
                       big32(&datagram[12]), decoding.nowMs);
  if (domain == nullptr) {
    state.undecoded.count(UndecodedKind::bound, number, 0, 0);
    return;
  }
  const SequenceMark mark{
      .number = big32(&datagram[12]), .uptimeMs = uptimeMs, .hasUptime = true, .exportMs = times.exportMs};
  if (!acceptDatagram(decoding, *domain, mark)) return;
  state.noteClock(times.exportMs, decoding.nowMs);
  noteGap(*domain);
  const SetsRead read = readSets(decoding, *domain, datagram.subspan(kHeader), times);
  domain->lastUnits = read.isComplete ? read.records : 0;
  if (!domain->countsRecords) {
    domain->sequence.advance(1);
  } else if (read.isComplete) {
    domain->sequence.advance(read.records);
  } else {
    domain->sequence.advanceUnknown();
  }
}

}  // namespace floodwall
