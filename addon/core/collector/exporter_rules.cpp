#include "collector/exporter_rules.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace floodwall {
namespace {

PrefixTable tableOf(const std::vector<ExporterRule>& rules) {
  if (rules.size() > kExporterRulesMax) {
    throw std::out_of_range("there can be at most " + std::to_string(kExporterRulesMax) +
                            " rules of exporters: take exporters together by prefixes");
  }
  std::vector<PrefixValue> prefixes;
  for (std::uint32_t i = 0; i < rules.size(); i++) prefixes.push_back({rules[i].address, rules[i].length, i});
  return PrefixTable(prefixes);
}

}  // namespace

InterfaceRole ExporterRule::roleOf(std::uint32_t index, std::string_view interfaceName) const noexcept {
  using Answer = InterfaceList::Answer;
  if (!hasRoles()) return InterfaceRole::unset;
  if (index == 0) return InterfaceRole::unknown;
  const Answer isExternal = external ? external->has(index, interfaceName) : Answer::no;
  if (isExternal == Answer::yes) return InterfaceRole::external;
  const Answer isInternal = internal ? internal->has(index, interfaceName) : Answer::no;
  // A name that comes to be known may still make it an external one.
  if (isExternal == Answer::needsName || isInternal == Answer::needsName) return InterfaceRole::unknown;
  if (isInternal == Answer::yes) return InterfaceRole::internal;
  if (!external) return InterfaceRole::external;
  return internal ? InterfaceRole::other : InterfaceRole::internal;
}

ExporterRules::ExporterRules(std::vector<ExporterRule> rules, SitePresence& presence)
    : rules_(std::move(rules)), sites_(rules_.size()), table_(tableOf(rules_)) {
  std::unordered_map<std::string, std::vector<std::uint32_t>> sites;
  for (std::uint32_t i = 0; i < rules_.size(); i++) {
    const ExporterRule& rule = rules_[i];
    if (rule.site.empty()) continue;
    std::vector<std::uint32_t>& site = sites[rule.site];
    if (site.size() == kSiteRulesMax) {
      throw std::out_of_range("site " + rule.site + " has more than " + std::to_string(kSiteRulesMax) +
                              " rules of exporters");
    }
    sites_[i] = {presence.of(rule.address, rule.length), site};
    site.push_back(i);
  }
}

const ExporterRule& ExporterRules::unlisted() noexcept {
  static const ExporterRule rule;
  return rule;
}

bool ExporterRules::isActive(std::uint32_t rule, std::uint64_t nowMs) const noexcept {
  return std::none_of(sites_[rule].before.begin(), sites_[rule].before.end(), [&](std::uint32_t earlier) {
    const std::uint64_t reportedMs = sites_[earlier].presence->reportedMs();
    return reportedMs != 0 && nowMs < reportedMs + rules_[earlier].silentAfterMs;
  });
}

}  // namespace floodwall
