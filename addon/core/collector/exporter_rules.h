// Which exporters are accepted, and how what they say counts: the operator's rules, immutable; a change makes new ones.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/prefix_table.h"
#include "collector/interface_list.h"
#include "collector/site_presence.h"
#include "count/flow_record.h"

namespace floodwall {

inline constexpr std::size_t kExporterRulesMax = 4096;
/// Rules of one site.
inline constexpr std::size_t kSiteRulesMax = 64;

/// The role of an interface for the network that is protected.
enum class InterfaceRole : std::uint8_t {
  /// The rule gives no roles: all counts.
  unset,
  external,
  internal,
  /// In neither list, where both are given.
  other,
  /// The exporter does not say which interface it is, or not the name by which it would have a role.
  unknown,
};
inline constexpr std::array<const char*, 5> kInterfaceRoleNames = {"unset", "external", "internal", "other", "unknown"};

/// ExporterRule of native-flow.d.ts.
struct ExporterRule {
  enum class Direction : std::uint8_t { ingress, egress, both };

  Address address;
  std::uint8_t length = 128;
  std::string name;
  /// 0: as the exporter says.
  std::uint32_t samplingRate = 0;
  /// Speed of the fastest interface; 0: it may be as fast as any.
  std::uint32_t fastestMbps = 0;
  Direction direction = Direction::ingress;
  std::optional<InterfaceList> external;
  std::optional<InterfaceList> internal;
  /// Empty: none.
  std::string site;
  std::uint64_t silentAfterMs = 60'000;
  Encapsulations decapsulated{};

  [[nodiscard]] bool hasRoles() const noexcept { return external.has_value() || internal.has_value(); }
  [[nodiscard]] InterfaceRole roleOf(std::uint32_t index, std::string_view interfaceName) const noexcept;
  [[nodiscard]] bool leavesOut(FlowDirection reported) const noexcept {
    return (reported == FlowDirection::egress && direction == Direction::ingress) ||
           (reported == FlowDirection::ingress && direction == Direction::egress);
  }
};
inline constexpr std::array<const char*, 3> kRuleDirections = {"ingress", "egress", "both"};

class ExporterRules {
 public:
  static constexpr std::uint32_t kNone = PrefixTable::kNone;

  /// Throws std::out_of_range over a bound.
  ExporterRules(std::vector<ExporterRule> rules, SitePresence& presence);

  /// Without rules every exporter is accepted, up to a small bound.
  [[nodiscard]] bool isEmpty() const noexcept { return rules_.empty(); }
  /// Number of the rule with the longest prefix, or kNone.
  [[nodiscard]] std::uint32_t match(const Address& address) const noexcept { return table_.match(address); }
  [[nodiscard]] const ExporterRule& operator[](std::uint32_t rule) const noexcept { return rules_[rule]; }
  /// The rule of exporters where there are no rules.
  [[nodiscard]] static const ExporterRule& unlisted() noexcept;

  /// Exporters of the rule reported traffic.
  /// @param records of traffic.
  void reported(std::uint32_t rule, std::uint64_t nowMs, std::uint64_t records = 1) const noexcept {
    if (sites_[rule].presence) sites_[rule].presence->reported(nowMs, records, rules_[rule].silentAfterMs);
  }
  /// Whether all rules of the site that are listed before this one are silent; true without a site.
  [[nodiscard]] bool isActive(std::uint32_t rule, std::uint64_t nowMs) const noexcept;

 private:
  struct InSite {
    std::shared_ptr<Presence> presence;
    /// Numbers of the rules of the site that are listed before.
    std::vector<std::uint32_t> before;
  };
  std::vector<ExporterRule> rules_;
  std::vector<InSite> sites_;
  PrefixTable table_;
};

}  // namespace floodwall
