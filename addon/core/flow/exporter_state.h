// The state that the decoders of one exporter share.
#pragma once

#include <array>
#include <cstdint>

#include "flow/data_sources.h"
#include "flow/flow_domain.h"
#include "flow/flow_exporter_status.h"
#include "flow/flow_ledger.h"
#include "flow/flow_work.h"
#include "flow/interface_names.h"
#include "flow/record_sink.h"
#include "flow/sampling_table.h"
#include "flow/undecoded.h"
#include "flow/waiting_sets.h"
#include "parse/encapsulation.h"

namespace floodwall {

struct ExporterState {
  FlowCounts counts;
  std::array<std::uint64_t, kFlowProtocols> datagramsByProtocol{};
  Undecoded undecoded;
  FlowDomains domains;
  SamplingTable samplings;
  InterfaceNames interfaces;
  DataSources sources;
  FlowLedger ledger;
  WaitingSets waiting;
  /// Encapsulations that sampled packets are taken out of.
  Encapsulations decapsulated{};
  /// The exporter's clock minus ours, in 1/16 ms.
  std::int64_t skew16 = 0;
  bool isClockKnown = false;
  std::uint64_t lastSeenMs = 0;
  /// Export time of the first datagram that has one; 0: none did.
  std::uint64_t firstExportMs = 0;

  /// Grows where what is kept over a restart changes.
  std::uint64_t lastingVersion = 0;
  /// Work of its decoders; see FlowExporter::work.
  std::uint64_t work = 0;

  std::uint32_t traits = 0;
  std::array<std::uint32_t, kVendorsMax> vendors{};

  void note(FlowTrait trait) noexcept { traits |= 1U << static_cast<unsigned>(trait); }
  void noteVendor(std::uint32_t enterprise) noexcept;
  /// Each datagram's clock moves the skew by a sixteenth, a step of more than a second at once.
  void noteClock(std::uint64_t exportMs, std::uint64_t nowMs) noexcept;
};

/// One datagram on its way through a decoder.
struct Decoding {
  ExporterState& state;
  RecordBatch& batch;
  ByteSpan datagram;
  /// UDP source port.
  std::uint16_t port;
  std::uint64_t nowMs;
  /// Changes that its options may make.
  std::size_t changesLeft = kOptionChangesLeast + datagram.size() / kBytesAnOptionChange;
};

/// The place of a message in the exporter's sequence, by its header.
struct SequenceMark {
  std::uint32_t number = 0;
  std::uint32_t uptimeMs = 0;
  bool hasUptime = false;
  /// The exporter's wall clock, ms since 1970; 0: not said.
  std::uint64_t exportMs = 0;
};

/// False for a datagram that came before, which is left out.
[[nodiscard]] bool acceptDatagram(Decoding& decoding, FlowDomain& domain, const SequenceMark& mark);

/// Counts one whose header cannot be; `said`: its count or length.
inline void refuseDatagram(Decoding& decoding, std::uint32_t version, std::uint32_t said) {
  const auto size = static_cast<std::uint32_t>(decoding.datagram.size());
  decoding.state.undecoded.count(UndecodedKind::datagram, size, version, said);
}

// The decoders, by the version that a datagram begins with.
void decodeNetflow5(Decoding& decoding);
void decodeNetflow9(Decoding& decoding);
void decodeIpfix(Decoding& decoding);
void decodeSflow5(Decoding& decoding);

}  // namespace floodwall
