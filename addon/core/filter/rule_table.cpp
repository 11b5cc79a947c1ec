#include "filter/rule_table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <unordered_set>

namespace floodwall {
namespace {

/// Match and action, without what changes while a rule stays.
bool isSame(const filter_rule& one, const filter_rule& other) {
  constexpr std::size_t kFrom = offsetof(filter_rule, asks), kTo = offsetof(filter_rule, paid_until_ns);
  const auto* a = reinterpret_cast<const std::byte*>(&one);
  const auto* b = reinterpret_cast<const std::byte*>(&other);
  return std::memcmp(a + kFrom, b + kFrom, kTo - kFrom) == 0;
}

/// The bits that all ports of some ranges have in common; 0 in the mask: none.
struct CommonBits {
  std::uint16_t mask, wanted;
};
CommonBits commonBits(std::span<const filter_ports> ranges) {
  const std::uint32_t first = ranges[0].from;
  std::uint32_t differing = 0;
  for (const filter_ports& range : ranges) differing |= (first ^ range.from) | (first ^ range.to);
  const std::uint32_t mask = ~(std::bit_ceil(differing + 1) - 1);
  return {.mask = static_cast<std::uint16_t>(mask), .wanted = static_cast<std::uint16_t>(first & mask)};
}

/// Whether the bits say all of the ranges.
bool areAll(const CommonBits& common, std::span<const filter_ports> ranges) {
  return ranges.size() == 1 && ranges[0].from == common.wanted &&
         ranges[0].to == static_cast<std::uint16_t>(common.wanted | ~common.mask);
}

/// What filter_entry has of a rule. With wanted bits that the mask lacks, nothing matches.
void setTraits(SetPrefix& prefix, const filter_rule& rule) {
  prefix.asksMore = (rule.asks & (FILTER_ASKS_LENGTH | FILTER_ASKS_SOURCE)) != 0;
  filter_traits& mask = prefix.mask;
  filter_traits& wanted = prefix.wanted;
  if ((rule.asks & FILTER_ASKS_PROTOCOL) != 0) {
    mask.protocol = UINT8_MAX;
    wanted.protocol = rule.protocol;
  }
  if ((rule.asks & FILTER_ASKS_FRAGMENT) != 0) {
    mask.shows |= FILTER_SHOWS_FRAGMENT;
    wanted.shows = rule.fragment != 0 ? FILTER_SHOWS_FRAGMENT : 0;
  }
  if ((rule.asks & FILTER_ASKS_FLAGS) != 0) {
    mask.tcp_flags = rule.flags_set | rule.flags_unset;
    wanted.tcp_flags = rule.flags_set;
    wanted.reserved = rule.flags_set & rule.flags_unset;
    mask.shows |= FILTER_SHOWS_FLAGS;
    wanted.shows |= FILTER_SHOWS_FLAGS;
  }
  const auto setPorts = [&](std::uint32_t first, std::uint32_t count, __u16& maskPort, __u16& wantedPort) {
    if (count == 0) return;
    const auto ranges = std::span(rule.ports).subspan(first, count);
    const CommonBits common = commonBits(ranges);
    prefix.asksMore |= !areAll(common, ranges);
    maskPort = common.mask;
    wantedPort = common.wanted;
    mask.shows |= FILTER_SHOWS_PORTS;
    wanted.shows |= FILTER_SHOWS_PORTS;
  };
  setPorts(0, rule.source_ports, mask.source_port, wanted.source_port);
  setPorts(FILTER_PORT_RANGES, rule.destination_ports, mask.destination_port, wanted.destination_port);
}

void add(filter_count& to, const filter_count& more) {
  to.packets += more.packets;
  to.bytes += more.bytes;
}

std::string textOf(const FilterName& name) { return {name.text.data(), strnlen(name.text.data(), name.text.size())}; }

}  // namespace

RuleTable::RuleTable(const FilterMaps& maps) : maps_(maps) {
  std::vector<bool> isUsed(maps.rules().size());
  for (const filter_entry& entry : activeEntries(maps, FILTER_RULES)) {
    if (entry.rule >= isUsed.size() || isUsed[entry.rule]) continue;
    isUsed[entry.rule] = slots_.emplace(textOf(maps.names()[entry.rule]), entry.rule).second;
  }
  for (std::uint32_t slot = 0; slot < isUsed.size(); slot++) {
    if (!isUsed[slot]) free_.push_back(slot);
  }
}

void RuleTable::requireGood(std::span<const WantedRule> wanted) const {
  const std::uint32_t most = maps_.head().rules_max;
  if (wanted.size() > most) {
    throw FilterError("no room in the kernel for " + std::to_string(wanted.size()) + " dynamic rules, only " +
                      std::to_string(most) + ": raise dataplane.limits.max_dynamic_rules and restart");
  }
  std::unordered_set<std::string> seen;
  for (const WantedRule& rule : wanted) {
    if (rule.id.empty() || rule.id.size() > WantedRule::kIdBytesMax || !seen.insert(rule.id).second) {
      throw FilterError("rule identifiers must differ and have 1 to " + std::to_string(WantedRule::kIdBytesMax) +
                        " bytes: " + rule.id);
    }
  }
}

void RuleTable::set(std::span<const WantedRule> wanted) {
  requireGood(wanted);
  std::unordered_map<std::string, std::uint32_t> next;
  std::vector<SetPrefix> prefixes;
  std::vector<std::uint32_t> added;
  for (const WantedRule& rule : wanted) {
    const auto known = slots_.find(rule.id);
    std::uint32_t slot = 0;
    if (known != slots_.end() && isSame(maps_.rules()[known->second], rule.rule)) {
      slot = known->second;
    } else {
      slot = free_.front();
      free_.pop_front();
      write(slot, rule);
      added.push_back(slot);
    }
    next.emplace(rule.id, slot);
    prefixes.push_back({.address = rule.rule.destination, .length = rule.destinationLength, .rule = slot});
    setTraits(prefixes.back(), rule.rule);
  }
  try {
    publishSet(maps_, FILTER_RULES, std::move(prefixes));
  } catch (const FilterError&) {
    for (const std::uint32_t slot : added) release(slot);
    throw;
  }
  for (const WantedRule& rule : wanted) {
    __atomic_store_n(&maps_.rules()[next.at(rule.id)].expires_at_ns, rule.rule.expires_at_ns, __ATOMIC_RELAXED);
  }
  for (const auto& [id, slot] : slots_) {
    const auto kept = next.find(id);
    if (kept == next.end() || kept->second != slot) release(slot);
  }
  slots_ = std::move(next);
}

void RuleTable::write(std::uint32_t slot, const WantedRule& wanted) {
  maps_.rules()[slot] = wanted.rule;
  for (std::uint32_t stripe = 0; stripe < maps_.head().stripes; stripe++) hitsIn(stripe, slot) = {};
  FilterName& name = maps_.names()[slot];
  name = {};
  std::copy(wanted.id.begin(), wanted.id.end(), name.text.begin());
}

void RuleTable::release(std::uint32_t slot) {
  __atomic_store_n(&maps_.rules()[slot].expires_at_ns, std::uint64_t{0}, __ATOMIC_RELAXED);
  free_.push_back(slot);
}

void RuleTable::sweep(std::uint64_t nowNs) {
  if (count(nowNs) == slots_.size()) return;
  std::vector<SetPrefix> kept;
  for (const filter_entry& entry : activeEntries(maps_, FILTER_RULES)) {
    if (maps_.rules()[entry.rule].expires_at_ns <= nowNs) continue;
    const bool isAny = (maps_.rules()[entry.rule].asks & FILTER_ASKS_DESTINATION) == 0;
    kept.push_back({.address = entry.address,
                    .length = isAny ? kAnyLength : entry.length,
                    .rule = entry.rule,
                    .mask = entry.mask,
                    .wanted = entry.wanted,
                    .asksMore = entry.asks_more != 0});
  }
  publishSet(maps_, FILTER_RULES, std::move(kept));
  std::erase_if(slots_, [&](const auto& known) {
    if (maps_.rules()[known.second].expires_at_ns > nowNs) return false;
    release(known.second);
    return true;
  });
}

std::vector<RuleHits> RuleTable::read(std::uint64_t nowNs) const {
  std::vector<RuleHits> rules;
  for (const auto& [id, slot] : slots_) {
    if (maps_.rules()[slot].expires_at_ns > nowNs) rules.push_back(hitsOf(slot, id));
  }
  return rules;
}

std::uint32_t RuleTable::count(std::uint64_t nowNs) const {
  return static_cast<std::uint32_t>(std::count_if(slots_.begin(), slots_.end(), [&](const auto& known) {
    return maps_.rules()[known.second].expires_at_ns > nowNs;
  }));
}

RuleHits RuleTable::hitsOf(std::uint32_t slot, const std::string& id) const {
  RuleHits sum{.id = id, .expiresAtNs = maps_.rules()[slot].expires_at_ns};
  for (std::uint32_t stripe = 0; stripe < maps_.head().stripes; stripe++) {
    const filter_hits& hits = hitsIn(stripe, slot);
    for (const filter_outcome outcome : {FILTER_PASSED, FILTER_DROPPED, FILTER_ANSWERED}) {
      add(sum.all, hits.outcomes[outcome]);
    }
    add(sum.dropped, hits.outcomes[FILTER_DROPPED]);
    add(sum.answered, hits.outcomes[FILTER_ANSWERED]);
    sum.validated += hits.outcomes[FILTER_VALIDATED].packets;
  }
  return sum;
}

}  // namespace floodwall
