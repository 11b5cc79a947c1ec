#include "filter/rule_table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <unordered_set>

namespace floodwall {
namespace {

/// Match and action, without what changes while a rule stays.
bool isSame(const filter_rule& one, const filter_rule& other) {
  constexpr std::size_t kFrom = offsetof(filter_rule, asks), kTo = offsetof(filter_rule, paid_until_ns);
  const auto* a = reinterpret_cast<const std::byte*>(&one);
  const auto* b = reinterpret_cast<const std::byte*>(&other);
  return std::memcmp(a + kFrom, b + kFrom, kTo - kFrom) == 0 &&
         std::equal(std::begin(one.protocols), std::end(one.protocols), std::begin(other.protocols));
}

bool asksDetails(const filter_rule& rule) { return (rule.asks & FILTER_ASKS_DETAILS) != 0; }

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

/// The part of a rule in filter_entry. With wanted bits that the mask lacks, nothing matches.
void setTraits(SetPrefix& prefix, const filter_rule& rule) {
  constexpr std::uint32_t kMore = FILTER_ASKS_LENGTH | FILTER_ASKS_SOURCE | FILTER_ASKS_DETAILS | FILTER_ASKS_PROTOCOLS;
  prefix.asksMore = (rule.asks & kMore) != 0;
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

std::deque<std::uint32_t> unusedOf(const std::vector<bool>& isUsed) {
  std::deque<std::uint32_t> unused;
  for (std::uint32_t i = 0; i < isUsed.size(); i++) {
    if (!isUsed[i]) unused.push_back(i);
  }
  return unused;
}

std::string textOf(const FilterName& name) { return {name.text.data(), strnlen(name.text.data(), name.text.size())}; }

}  // namespace

RuleTable::RuleTable(const FilterMaps& maps) : maps_(maps) {
  std::vector<bool> isUsed(maps.rules().size()), areDetailsUsed(maps.details().size());
  for (const filter_set_kind kind : {FILTER_RULES, FILTER_OPERATOR_RULES}) {
    for (const filter_entry& entry : activeEntries(maps, kind)) {
      if (entry.rule >= isUsed.size() || isUsed[entry.rule]) continue;
      isUsed[entry.rule] = slots_.emplace(textOf(maps.names()[entry.rule]), entry.rule).second;
      const std::uint32_t details = maps.rules()[entry.rule].details;
      if (details > 0 && details <= areDetailsUsed.size()) areDetailsUsed[details - 1] = true;
    }
  }
  free_ = unusedOf(isUsed);
  freeDetails_ = unusedOf(areDetailsUsed);
}

void RuleTable::requireGood(std::span<const WantedRule> wanted) const {
  const std::uint32_t most = maps_.head().rules_max;
  if (wanted.size() > most) {
    throw FilterError("no room in the kernel for " + std::to_string(wanted.size()) + " dynamic rules, only " +
                      std::to_string(most) + ": raise dataplane.limits.max_dynamic_rules and restart");
  }
  const auto detailed =
      std::count_if(wanted.begin(), wanted.end(), [](const WantedRule& rule) { return asksDetails(rule.rule); });
  if (detailed > DETAILS_RULES_MAX) {
    throw FilterError(
        "no room in the kernel for " + std::to_string(detailed) +
        " rules that ask for payload, sets of prefixes, TTL, DSCP, TCP options or several lengths, only " +
        std::to_string(DETAILS_RULES_MAX) + ": use fewer");
  }
  std::unordered_set<std::string> seen;
  for (const WantedRule& rule : wanted) {
    if (rule.id.empty() || rule.id.size() > WantedRule::kIdBytesMax || !seen.insert(rule.id).second) {
      throw FilterError("rule identifiers must differ and have 1 to " + std::to_string(WantedRule::kIdBytesMax) +
                        " bytes: " + rule.id);
    }
  }
}

void RuleTable::set(std::span<const WantedRule> wanted, std::span<const OperatorEntry> entries) {
  requireGood(wanted);
  std::unordered_map<std::string, std::uint32_t> next;
  std::vector<std::uint32_t> slots, added;
  for (const WantedRule& rule : wanted) {
    const auto known = slots_.find(rule.id);
    std::uint32_t slot = 0;
    if (known != slots_.end() && isKept(known->second, rule)) {
      slot = known->second;
    } else {
      slot = free_.front();
      free_.pop_front();
      write(slot, rule);
      added.push_back(slot);
    }
    next.emplace(rule.id, slot);
    slots.push_back(slot);
  }
  try {
    publish(wanted, slots, entries);
  } catch (const FilterError&) {
    for (const std::uint32_t slot : added) release(slot);
    throw;
  }
  for (std::size_t i = 0; i < wanted.size(); i++) {
    __atomic_store_n(&maps_.rules()[slots[i]].expires_at_ns, wanted[i].rule.expires_at_ns, __ATOMIC_RELAXED);
  }
  for (const auto& [id, slot] : slots_) {
    const auto kept = next.find(id);
    if (kept == next.end() || kept->second != slot) release(slot);
  }
  slots_ = std::move(next);
}

void RuleTable::publish(std::span<const WantedRule> wanted, std::span<const std::uint32_t> slots,
                        std::span<const OperatorEntry> entries) const {
  const auto prefixOf = [&](std::size_t i, const ip_address& destination, std::uint32_t length) {
    SetPrefix prefix{.address = destination, .length = length, .rule = slots[i]};
    setTraits(prefix, wanted[i].rule);
    if (asksDetails(wanted[i].rule)) prefix.detailsAsked = wanted[i].details.asks;
    return prefix;
  };
  std::vector<bool> isOperators(wanted.size());
  std::vector<SetPrefix> operators, dynamic;
  for (const OperatorEntry& entry : entries) {
    isOperators.at(entry.rule) = true;
    operators.push_back(prefixOf(entry.rule, entry.destination, entry.length));
  }
  for (std::size_t i = 0; i < wanted.size(); i++) {
    if (!isOperators[i]) dynamic.push_back(prefixOf(i, wanted[i].rule.destination, wanted[i].destinationLength));
  }
  requireRoom(maps_, FILTER_RULES, dynamic);
  publishSet(maps_, FILTER_OPERATOR_RULES, std::move(operators));
  publishSet(maps_, FILTER_RULES, std::move(dynamic));
}

bool RuleTable::isKept(std::uint32_t slot, const WantedRule& wanted) const {
  const filter_rule& rule = maps_.rules()[slot];
  if (!isSame(rule, wanted.rule)) return false;
  if (!asksDetails(rule)) return true;
  return std::memcmp(&maps_.details()[rule.details - 1], &wanted.details, sizeof wanted.details) == 0;
}

void RuleTable::write(std::uint32_t slot, const WantedRule& wanted) {
  filter_rule rule = wanted.rule;
  rule.details = 0;
  if (asksDetails(rule)) {
    maps_.details()[freeDetails_.front()] = wanted.details;
    rule.details = freeDetails_.front() + 1;
    freeDetails_.pop_front();
  }
  maps_.rules()[slot] = rule;
  for (std::uint32_t stripe = 0; stripe < maps_.head().stripes; stripe++) hitsIn(stripe, slot) = {};
  FilterName& name = maps_.names()[slot];
  name = {};
  std::copy(wanted.id.begin(), wanted.id.end(), name.text.begin());
}

void RuleTable::release(std::uint32_t slot) {
  filter_rule& rule = maps_.rules()[slot];
  __atomic_store_n(&rule.expires_at_ns, std::uint64_t{0}, __ATOMIC_RELAXED);
  free_.push_back(slot);
  if (asksDetails(rule)) freeDetails_.push_back(rule.details - 1);
}

void RuleTable::sweep(std::uint64_t nowNs) {
  if (count(nowNs) == slots_.size()) return;
  sweep(FILTER_OPERATOR_RULES, nowNs);
  sweep(FILTER_RULES, nowNs);
  std::erase_if(slots_, [&](const auto& known) {
    if (maps_.rules()[known.second].expires_at_ns > nowNs) return false;
    release(known.second);
    return true;
  });
}

void RuleTable::sweep(filter_set_kind kind, std::uint64_t nowNs) const {
  std::vector<SetPrefix> kept;
  for (const filter_entry& entry : activeEntries(maps_, kind)) {
    const filter_rule& rule = maps_.rules()[entry.rule];
    if (rule.expires_at_ns <= nowNs) continue;
    const bool isAny = kind == FILTER_RULES && (rule.asks & FILTER_ASKS_DESTINATION) == 0;
    kept.push_back({.address = entry.address,
                    .length = isAny ? kAnyLength : entry.length,
                    .rule = entry.rule,
                    .detailsAsked = asksDetails(rule) ? maps_.details()[rule.details - 1].asks : 0U,
                    .mask = entry.mask,
                    .wanted = entry.wanted,
                    .asksMore = entry.asks_more != 0});
  }
  publishSet(maps_, kind, std::move(kept));
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
