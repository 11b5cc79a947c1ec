// What numbers itself within an exporter: an observation domain, an engine of NetFlow v5, an agent of sFlow. It has
// templates of its own (RFC 7011, 8).
#pragma once

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
  /// Of sFlow's agent, which need not be the sender; else 0.
  std::uint64_t agent = 0;
  friend bool operator==(const DomainKey&, const DomainKey&) = default;
};

struct FlowDomain {
  DomainKey key;
  std::uint64_t seenMs = 0;
  SequenceTracker sequence;
  RecentDatagrams recent;
  /// Of the last datagram in order.
  std::uint32_t uptimeMs = 0;
  std::uint32_t lastUnits = 0;
  /// NetFlow v9: gaps in a row that were just as long as the datagram before had records.
  std::uint8_t gapsOfRecords = 0;
  bool countsRecords = false;
  bool hasUptime = false;
  /// When its uptime began, as IPFIX options tell it; 0: not known.
  std::uint64_t systemInitMs = 0;
  /// The last rate in a header of NetFlow v5 or in a record; 0: none.
  std::uint32_t ownRate = 0;
  bool hasUnknownRate = false;
  /// By id.
  std::vector<std::unique_ptr<FlowTemplate>> templates;

  [[nodiscard]] FlowTemplate* find(std::uint16_t id) const noexcept;
  /// What its sequence numbers count, and so its gaps.
  [[nodiscard]] std::uint64_t FlowCounts::*lostUnits() const noexcept {
    const bool countsDatagrams =
        key.protocol == FlowProtocol::sflow5 || (key.protocol == FlowProtocol::netflow9 && !countsRecords);
    return countsDatagrams ? &FlowCounts::lostDatagrams : &FlowCounts::lostRecords;
  }
};

/// All domains of an exporter and their templates, bounded by kFlowDomainsMax and kTemplatesMax.
class FlowDomains {
 public:
  /// Null if there is no room.
  [[nodiscard]] FlowDomain* of(const DomainKey& key, std::uint64_t nowMs);

  enum class Stored : std::uint8_t { added, changed, refused };
  /// `domain` may have one of this id.
  Stored store(FlowDomain& domain, std::unique_ptr<FlowTemplate> flowTemplate, std::uint64_t nowMs);

  [[nodiscard]] const std::vector<std::unique_ptr<FlowDomain>>& all() const noexcept { return domains_; }
  [[nodiscard]] std::size_t templates() const noexcept { return templates_; }
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  bool makeRoomForDomain(std::uint64_t nowMs);
  bool makeRoomForTemplate(std::uint64_t nowMs);

  std::vector<std::unique_ptr<FlowDomain>> domains_;
  std::size_t last_ = 0;
  std::size_t templates_ = 0;
};

}  // namespace floodwall
