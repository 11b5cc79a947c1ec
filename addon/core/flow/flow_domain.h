// A part of an exporter with its own numbers: an observation domain, an engine of NetFlow v5, an agent of sFlow. It has
// templates of its own (RFC 7011, 8).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "flow/flow_exporter_status.h"
#include "flow/record_layout.h"
#include "flow/sequence_tracker.h"

namespace floodwall {

struct DomainKey {
  FlowProtocol protocol{};
  /// Observation domain or source id; engine type and id; sFlow's sub-agent.
  std::uint32_t number = 0;
  /// Address of sFlow's agent, which need not be the sender; else 0.
  std::uint64_t agent = 0;
  /// The port that it sent from first. It distinguishes exporting processes behind one address, which have templates of
  /// their own (RFC 7011, 8). 0 for sFlow, whose agents say who they are.
  std::uint16_t port = 0;
  friend bool operator==(const DomainKey&, const DomainKey&) = default;
};

struct FlowDomain {
  DomainKey key;
  std::uint64_t seenMs = 0;
  Use use;
  SequenceTracker sequence;
  RecentDatagrams recent;
  /// Uptime of the last datagram in order.
  std::uint32_t uptimeMs = 0;
  std::uint32_t lastUnits = 0;
  /// NetFlow v9: gaps in a row that were just as long as the datagram before had records.
  std::uint8_t gapsOfRecords = 0;
  /// Other ports that it sends from, or has sent from; 0: none.
  std::array<std::uint16_t, 8> otherPorts{};
  std::uint8_t nextPort = 0;
  bool countsRecords = false;
  bool hasUptime = false;
  /// From before a restart of this service, and no datagram since.
  bool isRestored = false;
  /// The latest that its headers said, ms since 1970.
  std::uint64_t exportMs = 0;
  /// When its uptime began, as IPFIX options report it; 0: not known.
  std::uint64_t systemInitMs = 0;
  /// When its sequence last began again, by our clock; 0: it never has.
  std::uint64_t beganAgainMs = 0;
  /// The last rate in a header of NetFlow v5 or in a record; 0: none.
  std::uint32_t ownRate = 0;
  bool hasUnknownRate = false;
  /// By id.
  std::vector<std::unique_ptr<FlowTemplate>> templates;

  [[nodiscard]] FlowTemplate* find(std::uint16_t id) const noexcept;
  /// Whether a datagram with this number, from another port, is of the same process: it goes on with its sequence.
  [[nodiscard]] bool goesOn(std::uint16_t port, std::uint32_t number) const noexcept;
  /// The unit of its sequence numbers, and so of its gaps.
  [[nodiscard]] std::uint64_t FlowCounts::*lostUnits() const noexcept {
    const bool countsDatagrams =
        key.protocol == FlowProtocol::sflow5 || (key.protocol == FlowProtocol::netflow9 && !countsRecords);
    return countsDatagrams ? &FlowCounts::lostDatagrams : &FlowCounts::lostRecords;
  }
};

/// The number by which rates of sampling name the options template that said them.
[[nodiscard]] inline std::uint64_t saidBy(const FlowDomain& domain, const FlowTemplate& options) noexcept {
  return std::uint64_t{domain.key.number} << 32 | std::uint64_t{domain.key.port} << 16 | options.id;
}

/// All domains of an exporter and their templates, bounded by kFlowDomainsMax, kTemplatesMax and kDomainTemplatesMax;
/// see EvictionRank for the one that is replaced.
class FlowDomains {
 public:
  /// The domain of a datagram with this key and sequence number. Ports of one process are one domain, as long as its
  /// numbers go on. Null if there is no room.
  [[nodiscard]] FlowDomain* of(const DomainKey& key, std::uint32_t number, std::uint64_t nowMs);

  enum class Stored : std::uint8_t { added, changed, refused };
  /// `domain` may have one of this id.
  Stored store(FlowDomain& domain, std::unique_ptr<FlowTemplate> flowTemplate, std::uint64_t nowMs);
  /// One of before a restart of this service; null if there is no room, or one of its key.
  FlowDomain* restore(std::unique_ptr<FlowDomain> domain);
  /// The exporting process has restarted: its templates are others now (RFC 7011, 8.1; RFC 3954, 9).
  void forgetTemplates(FlowDomain& domain) noexcept;
  /// The same, but for one that is in use and those that came since.
  void forgetTemplatesBefore(FlowDomain& domain, std::uint64_t beforeMs, std::uint16_t inUse) noexcept;

  [[nodiscard]] const std::vector<std::unique_ptr<FlowDomain>>& all() const noexcept { return domains_; }
  [[nodiscard]] std::size_t templates() const noexcept { return templates_; }
  /// Templates that were replaced before they were idle.
  [[nodiscard]] std::uint64_t displaced() const noexcept { return displaced_; }
  /// See FlowExporter::work.
  [[nodiscard]] std::uint64_t work() const noexcept { return work_; }
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  [[nodiscard]] std::size_t indexOf(const DomainKey& key, std::uint32_t number) noexcept;
  bool makeRoomForDomain(const DomainKey& comer, std::uint64_t nowMs);
  /// `isShareFull`: only of the comer's own templates.
  bool makeRoomForTemplate(const FlowDomain& comer, bool isShareFull, std::uint64_t nowMs);
  /// Returns how many were replaced.
  std::size_t displaceTemplates(const FlowDomain& comer, bool isShareFull, std::uint64_t nowMs);

  std::vector<std::unique_ptr<FlowDomain>> domains_;
  std::size_t last_ = 0;
  std::size_t templates_ = 0;
  std::uint64_t displaced_ = 0;
  std::uint64_t work_ = 0;
  /// When room for templates was last sought and little found; 0: enough was.
  std::uint64_t littleRoomMs_ = 0;
};

}  // namespace floodwall
