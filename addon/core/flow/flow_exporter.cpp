#include "flow/flow_exporter.h"

#include <algorithm>

#include "flow/exporter_state.h"
#include "flow/saved_exporter.h"
#include "flow/template_reader.h"

namespace floodwall {

void ExporterState::noteClock(std::uint64_t exportMs, std::uint64_t nowMs) noexcept {
  constexpr std::int64_t kStep16 = 16 * 1000;
  if (firstExportMs == 0) firstExportMs = exportMs;
  const std::int64_t seen16 = (static_cast<std::int64_t>(exportMs) - static_cast<std::int64_t>(nowMs)) * 16;
  const std::int64_t change = seen16 - skew16;
  const bool isStep = !isClockKnown || change > kStep16 || change < -kStep16;
  skew16 += isStep ? change : change / 16;
  isClockKnown = true;
}

void ExporterState::noteVendor(std::uint32_t enterprise) noexcept {
  for (std::uint32_t& known : vendors) {
    if (known == enterprise) return;
    if (known != 0) continue;
    known = enterprise;
    return;
  }
}

namespace {

/// Whether an exporter restarted while this service did: its uptime is less than its clock says that it should be.
bool hasRestartedMeanwhile(const FlowDomain& domain, const SequenceMark& mark) noexcept {
  constexpr std::int32_t kClockStepMs = 60'000;
  if (!mark.hasUptime || !domain.hasUptime || mark.exportMs < domain.exportMs) return false;
  const auto expectedMs = domain.uptimeMs + static_cast<std::uint32_t>(mark.exportMs - domain.exportMs);
  return static_cast<std::int32_t>(mark.uptimeMs - expectedMs) < -kClockStepMs;
}

}  // namespace

bool acceptDatagram(Decoding& decoding, FlowDomain& domain, const SequenceMark& mark) {
  // Datagrams that are resent while the network reorders are no restart.
  constexpr std::int32_t kUptimeBackMs = 10'000;
  FlowCounts& counts = decoding.state.counts;
  bool hasRestarted =
      mark.hasUptime && domain.hasUptime && static_cast<std::int32_t>(mark.uptimeMs - domain.uptimeMs) < -kUptimeBackMs;
  if (domain.isRestored) {
    hasRestarted = hasRestarted || hasRestartedMeanwhile(domain, mark);
    domain.isRestored = false;
  }
  // The header and the last records distinguish datagrams; between them lies what cannot differ alone.
  constexpr std::size_t kDigested = 64;
  const ByteSpan datagram = decoding.datagram;
  const std::size_t digested = std::min(kDigested, datagram.size());
  const std::uint64_t digest =
      digestOf(datagram.first(digested)) + 3 * digestOf(datagram.last(digested)) + datagram.size();
  if (domain.recent.note(static_cast<std::uint32_t>(digest >> 32))) {
    counts.duplicates++;
    return false;
  }
  const Arrival arrival = domain.sequence.arrive(mark.number, decoding.nowMs, hasRestarted);
  counts.reordered += arrival == Arrival::late ? 1 : 0;
  counts.restarts += arrival == Arrival::restart ? 1 : 0;
  if (arrival == Arrival::restart && mark.exportMs >= domain.exportMs) domain.beganAgainMs = decoding.nowMs;
  // The uptime shows a restart; sequence numbers do not, which some exporters begin again now and then. Nor does what
  // was sent earlier and came late.
  if (hasRestarted && mark.exportMs >= domain.exportMs) {
    decoding.state.domains.forgetTemplates(domain);
    decoding.state.lastingVersion++;
  }
  domain.exportMs = std::max(domain.exportMs, mark.exportMs);
  counts.*domain.lostUnits() += domain.sequence.takeLost(decoding.nowMs);
  if (mark.hasUptime && arrival != Arrival::late) {
    domain.uptimeMs = mark.uptimeMs;
    domain.hasUptime = true;
  }
  return true;
}

FlowExporter::FlowExporter() : state_(std::make_unique<ExporterState>()) {}
FlowExporter::~FlowExporter() = default;
FlowExporter::FlowExporter(FlowExporter&&) noexcept = default;
FlowExporter& FlowExporter::operator=(FlowExporter&&) noexcept = default;

void FlowExporter::decode(const FlowDatagram& received, std::uint64_t nowMs, RecordSink& sink) {
  const ByteSpan datagram = received.bytes;
  // The batch of the thread, not of the exporter: it is empty between two datagrams.
  static thread_local RecordBatch batch;
  ExporterState& state = *state_;
  state.counts.datagrams++;
  state.counts.bytes += datagram.size();
  state.lastSeenMs = nowMs;
  state.work += kDatagramWork;
  if (!state.waiting.isEmpty()) state.waiting.expire(nowMs, state.undecoded);
  if (datagram.size() < 4) {
    state.undecoded.count(UndecodedKind::datagram, static_cast<std::uint32_t>(datagram.size()), 0, 0);
    return;
  }
  constexpr std::uint32_t kSflow5 = 5;
  constexpr std::uint16_t kNetflow5 = 5, kNetflow9 = 9, kIpfix = 10;
  const std::uint16_t version = big16(datagram.data());
  Decoding decoding{state, batch, datagram, received.port, nowMs};
  batch.begin(sink);
  if (version == kNetflow9) {
    decodeNetflow9(decoding);
  } else if (version == kIpfix) {
    decodeIpfix(decoding);
  } else if (version == kNetflow5) {
    decodeNetflow5(decoding);
  } else if (big32(datagram.data()) == kSflow5) {
    decodeSflow5(decoding);
  } else {
    // sFlow has its version in four bytes.
    state.undecoded.count(UndecodedKind::version, 0, version == 0 ? big32(datagram.data()) : version, 0);
  }
  batch.end();
}

std::uint64_t FlowExporter::work() const noexcept { return state_->work + state_->domains.work(); }

void FlowExporter::saveInto(std::vector<std::uint8_t>& bytes) const { saveExporter(*state_, bytes); }
bool FlowExporter::restore(ByteSpan bytes) { return restoreExporter(*state_, bytes); }
std::uint64_t FlowExporter::lastingVersion() const noexcept { return state_->lastingVersion; }

void FlowExporter::settle(std::uint64_t nowMs) {
  ExporterState& state = *state_;
  for (const auto& domain : state.domains.all()) {
    state.counts.*domain->lostUnits() += domain->sequence.takeLost(nowMs);
  }
  state.counts.lostRecords += state.sources.takeLost(nowMs);
}

void FlowExporter::setDecapsulation(Encapsulations kinds) noexcept { state_->decapsulated = kinds; }

const FlowCounts& FlowExporter::counts() const noexcept { return state_->counts; }
const std::string& FlowExporter::interfaceName(std::uint32_t index) const noexcept {
  return state_->interfaces.of(index);
}
std::uint32_t FlowExporter::interfaceNamesVersion() const noexcept { return state_->interfaces.version(); }

void FlowExporter::statusInto(FlowExporterStatus& status) const {
  const ExporterState& state = *state_;
  status.counts = state.counts;
  status.counts.templatesDisplaced = state.domains.displaced();
  status.datagramsByProtocol = state.datagramsByProtocol;
  status.undecodedByKind = state.undecoded.byKind();
  status.undecoded.assign(state.undecoded.reasons().begin(), state.undecoded.reasons().end());
  status.waitingBytes = static_cast<std::uint32_t>(state.waiting.bytes());
  status.templates = static_cast<std::uint32_t>(state.domains.templates());
  status.domains = static_cast<std::uint32_t>(state.domains.all().size());
  status.traits = state.traits;
  status.vendors = state.vendors;
  status.untrackedFlows = state.ledger.untracked();
  status.clockSkewMs = state.skew16 / 16;
  status.isClockKnown = state.isClockKnown;
  status.lastSeenMs = state.lastSeenMs;
  status.samplings.clear();
  state.samplings.addTo(status.samplings);
  state.sources.addTo(status.samplings);
  for (const auto& domain : state.domains.all()) {
    if (status.samplings.size() >= kSamplingsShownMax) break;
    const FlowProtocol protocol = domain->key.protocol;
    if (domain->ownRate != 0) {
      const bool isHeader = protocol == FlowProtocol::netflow5;
      status.samplings.push_back(
          {domain->key.number, 0, domain->ownRate, isHeader ? SamplingOrigin::header : SamplingOrigin::record});
    }
    if (domain->hasUnknownRate) status.samplings.push_back({domain->key.number, 0, 0, SamplingOrigin::unknown});
  }
  state.interfaces.copyTo(status.interfaces);
  status.memoryBytes = sizeof state + state.domains.memoryBytes() + state.samplings.memoryBytes() +
                       state.sources.memoryBytes() + state.interfaces.memoryBytes() + state.waiting.bytes() +
                       state.ledger.memoryBytes();
}

}  // namespace floodwall
