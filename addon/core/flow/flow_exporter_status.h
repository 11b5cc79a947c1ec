// The status of one exporter for readers: values alone, copied by its thread from time to time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "flow/undecoded.h"

namespace floodwall {

enum class FlowProtocol : std::uint8_t { netflow5, netflow9, ipfix, sflow5 };
inline constexpr std::size_t kFlowProtocols = 4;
inline constexpr std::array<const char*, kFlowProtocols> kFlowProtocolNames = {"netflow5", "netflow9", "ipfix",
                                                                               "sflow5"};

/// From where a sampling rate is known: a header of NetFlow v5, options, the flow record itself, an sFlow sample.
enum class SamplingOrigin : std::uint8_t { header, options, record, sample, unknown };
inline constexpr std::array<const char*, 5> kSamplingOriginNames = {"header", "options", "record", "sample", "unknown"};

struct SamplingStatus {
  std::uint32_t domain = 0;
  /// Sampler or selector; sFlow's data source; the interface where options are by interface; 0: the whole domain.
  std::uint64_t sampler = 0;
  /// 0: not known.
  std::uint32_t rate = 0;
  SamplingOrigin origin = SamplingOrigin::unknown;
};

struct InterfaceName {
  std::uint32_t index = 0;
  std::string name;
};

/// How an exporter reports traffic, as far as it has shown.
enum class FlowTrait : std::uint8_t {
  /// Counts since the last record of the flow; of the whole flow; of a firewall's events; or sampled packets.
  deltas,
  totals,
  events,
  packets,
  /// Times of flows by its uptime, by the time of day, or none.
  uptimes,
  wallTimes,
  noTimes,
  /// The packet within a tunnel beside that around it.
  tunnels,
};
inline constexpr std::size_t kFlowTraits = static_cast<std::size_t>(FlowTrait::tunnels) + 1;
inline constexpr std::array<const char*, kFlowTraits> kFlowTraitNames = {
    "deltas", "totals", "events", "packets", "uptimes", "wall_times", "no_times", "tunnels"};
/// Vendors that an exporter names; more are left out.
inline constexpr std::size_t kVendorsMax = 4;

/// Data of an exporter that is understood and is no traffic of IP: left out.
enum class NotForUs : std::uint8_t {
  /// Samples of a vendor's own format.
  vendorSample,
  /// Packets that the agent dropped (sFlow's discarded_packet): they were counted as they came in.
  discardedSample,
  /// Frames that are not IP, as ARP.
  notIpFrame,
  /// IP in an encapsulation that `decapsulate` of the exporter does not name, as MPLS.
  encapsulatedFrame,
  /// Flow records of layer 2: without any IP address.
  layer2Record,
};
inline constexpr std::size_t kNotForUs = static_cast<std::size_t>(NotForUs::layer2Record) + 1;
inline constexpr std::array<const char*, kNotForUs> kNotForUsNames = {
    "vendor_sample", "discarded_sample", "not_ip_frame", "encapsulated_frame", "layer2_record"};

/// Counters grow for as long as the exporter is known.
struct FlowCounts {
  std::uint64_t datagrams = 0;
  std::uint64_t bytes = 0;
  /// Handed to the sink.
  std::uint64_t records = 0;
  /// Records that say what happened to a flow and count no packet (NSEL), or count none at all.
  std::uint64_t events = 0;
  /// Records of options, and sFlow's counter samples: understood, and not traffic.
  std::uint64_t otherRecords = 0;
  /// Records with bytes and without packets, or the other way: the missing one was estimated; see RecordMaker.
  std::uint64_t estimatedRecords = 0;
  /// Ended more than kLateRecordMs before they were exported.
  std::uint64_t lateRecords = 0;
  /// Records among them whose sampling rate is not known.
  std::uint64_t unknownRateRecords = 0;
  /// Sampling rates that no exporter can have.
  std::uint64_t impossibleRates = 0;
  /// In the order of NotForUs.
  std::array<std::uint64_t, kNotForUs> notForUs{};
  /// By the gaps in sequence numbers. Records: flows (v5), data records (IPFIX), samples (sFlow).
  std::uint64_t lostRecords = 0;
  std::uint64_t lostDatagrams = 0;
  std::uint64_t reordered = 0;
  /// Left out.
  std::uint64_t duplicates = 0;
  std::uint64_t restarts = 0;
  /// Packets that an sFlow agent could not sample for lack of resources, as it says itself.
  std::uint64_t droppedSamples = 0;
  /// Templates that found no room; those that others replaced before they were idle; and those that replaced another
  /// of their number with other content.
  std::uint64_t templatesRefused = 0;
  std::uint64_t templatesDisplaced = 0;
  std::uint64_t templateChanges = 0;
  /// Sets that were kept, and those decoded when their template came.
  std::uint64_t keptSets = 0;
  std::uint64_t recoveredSets = 0;

  void count(NotForUs kind, std::uint64_t times = 1) noexcept { notForUs.at(static_cast<std::size_t>(kind)) += times; }
};

struct FlowExporterStatus {
  FlowCounts counts;
  /// In the order of FlowProtocol.
  std::array<std::uint64_t, kFlowProtocols> datagramsByProtocol{};
  std::array<std::uint64_t, kUndecodedKinds> undecodedByKind{};
  std::vector<UndecodedReason> undecoded;
  /// Bytes of sets that wait for their template now.
  std::uint32_t waitingBytes = 0;
  std::uint32_t templates = 0;
  std::uint32_t domains = 0;
  /// A bit for each FlowTrait.
  std::uint32_t traits = 0;
  /// Private enterprise numbers (IANA) of its elements and samples; 0: none.
  std::array<std::uint32_t, kVendorsMax> vendors{};
  /// Flows whose totals found no room; see FlowLedger.
  std::uint64_t untrackedFlows = 0;
  /// The exporter's clock minus ours, smoothed; what datagrams were on their way is in it. Valid if isClockKnown.
  std::int64_t clockSkewMs = 0;
  bool isClockKnown = false;
  std::uint64_t lastSeenMs = 0;
  /// At most kSamplingsShownMax.
  std::vector<SamplingStatus> samplings;
  std::vector<InterfaceName> interfaces;
  /// Bytes of this exporter's tables.
  std::uint64_t memoryBytes = 0;
};

inline constexpr std::uint32_t kLateRecordMs = 300'000;
inline constexpr std::size_t kSamplingsShownMax = 256;

}  // namespace floodwall
