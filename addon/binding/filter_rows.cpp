#include "filter_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "allowance_abi.h"
#include "arguments.h"
#include "base/boot_clock.h"
#include "constants.h"
#include "forward_rows.h"
#include "record_abi.h"

namespace floodwall::binding {
namespace {

constexpr std::size_t kEndBytes = sizeof(ip_address);
constexpr std::uint32_t kBits = 8 * kEndBytes;

[[noreturn]] void throwRange(const Napi::Env& env, const std::string& text) { throw Napi::RangeError::New(env, text); }

ip_address addressAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  ip_address address;
  std::memcpy(address.bytes, bytes.data() + at, kEndBytes);
  return address;
}

ip_address maskOf(std::uint32_t length) {
  ip_address mask{};
  for (std::uint32_t bit = 0; bit < length; bit++) {
    mask.bytes[bit / 8] = static_cast<__u8>(mask.bytes[bit / 8] | 0x80U >> bit % 8);
  }
  return mask;
}

bool hasHostBits(const ip_address& address, std::uint32_t length) {
  const ip_address mask = maskOf(length);
  return (address.halves[0] & ~mask.halves[0]) != 0 || (address.halves[1] & ~mask.halves[1]) != 0;
}

SetPrefix prefixAt(const Napi::Env& env, const ip_address& address, std::uint32_t length) {
  if (length > kBits || hasHostBits(address, length)) throwRange(env, "prefixes must have no host bits");
  return {.address = address, .length = length, .rule = 0};
}

/// A byte's cost in 2^-16 ns; 0 is discard, so that no rate costs less than 1.
std::uint64_t costOf(const Napi::Env& env, double bytesPerSecond) {
  if (bytesPerSecond == 0) return 0;
  if (!(bytesPerSecond >= 1)) throwRange(env, "bytesPerSecond must be 0 or at least 1");
  return static_cast<std::uint64_t>(std::max(1.0, std::round(1e9 * 65536 / bytesPerSecond)));
}

/// A packet's cost in units of allowance_abi.h.
std::uint32_t packetCostOf(const Napi::Env& env, double packetsPerSecond) {
  if (packetsPerSecond == 0) return 0;
  constexpr double kUnitsPerSecond = 1e9 / (1 << ALLOWANCE_UNIT_SHIFT);
  if (!(packetsPerSecond >= 0.01)) throwRange(env, "packetsPerSecond must be 0 or at least 0.01");
  return static_cast<std::uint32_t>(std::max(1.0, std::round(kUnitsPerSecond / packetsPerSecond)));
}

ip_address addressOf(const __u8 (&bytes)[kEndBytes]) {
  ip_address address;
  std::memcpy(address.bytes, bytes, kEndBytes);
  return address;
}

void readPrefixes(const Napi::Env& env, const rule_record& record, WantedRule& wanted) {
  filter_rule& rule = wanted.rule;
  if (record.destination_length != RECORD_NO_PREFIX) {
    const SetPrefix destination = prefixAt(env, addressOf(record.destination), record.destination_length);
    rule.destination = destination.address;
    rule.destination_length = record.destination_length;
    rule.asks |= FILTER_ASKS_DESTINATION;
    wanted.destinationLength = record.destination_length;
  }
  if (record.source_length != RECORD_NO_PREFIX) {
    const SetPrefix source = prefixAt(env, addressOf(record.source), record.source_length);
    rule.source = source.address;
    rule.source_mask = maskOf(source.length);
    rule.is_source_ipv4 = isIpv4Prefix(source) ? 1 : 0;
    rule.asks |= FILTER_ASKS_SOURCE;
  }
}

bool fits(const filter_details& details) {
  if (details.patterns > DETAILS_PATTERNS) return false;
  return std::all_of(std::begin(details.pattern), std::end(details.pattern), [](const details_pattern& pattern) {
    return pattern.length <= DETAILS_PATTERN_BYTES && pattern.offset + pattern.length <= DETAILS_PAYLOAD;
  });
}

void readDetails(const Napi::Env& env, const rule_record& record, std::span<const std::uint8_t> bytes,
                 WantedRule& wanted) {
  if (record.details == 0) return;
  const std::size_t at = (std::size_t{record.details} - 1) * sizeof(filter_details);
  if (at + sizeof(filter_details) > bytes.size()) throwRange(env, "a rule names details that do not come with it");
  std::memcpy(&wanted.details, bytes.data() + at, sizeof(filter_details));
  if (!fits(wanted.details)) {
    throwRange(env, "a rule can ask for " + std::to_string(DETAILS_PATTERNS) + " patterns of up to " +
                        std::to_string(DETAILS_PATTERN_BYTES) + " of the first " + std::to_string(DETAILS_PAYLOAD) +
                        " bytes of the payload");
  }
  wanted.rule.asks |= FILTER_ASKS_DETAILS;
}

WantedRule ruleOf(const Napi::Env& env, std::string id, const rule_record& record) {
  WantedRule wanted{.id = std::move(id)};
  filter_rule& rule = wanted.rule;
  rule.expires_at_ns = bootNsFromWallMs(record.expires_at_ms);
  rule.byte_cost = costOf(env, record.bytes_per_second);
  rule.packet_cost = packetCostOf(env, record.packets_per_second);
  if (record.limit_length > kBits) throwRange(env, "limitLength must be 0 to 128");
  rule.limit_length = record.limit_length;
  if (record.action >= kRuleActions.size()) throwRange(env, "a rule has an unknown action");
  rule.action = record.action;
  rule.is_dry_run = record.is_dry_run;
  rule.asks = record.asks & (FILTER_ASKS_PROTOCOL | FILTER_ASKS_FRAGMENT | FILTER_ASKS_FLAGS | FILTER_ASKS_LENGTH |
                             FILTER_ASKS_PROTOCOLS);
  rule.protocol = record.protocol;
  rule.fragment = record.fragment;
  rule.flags_set = record.flags_set;
  rule.flags_unset = record.flags_unset;
  rule.source_ports = record.source_ports;
  rule.destination_ports = record.destination_ports;
  if (rule.source_ports > FILTER_PORT_RANGES || rule.destination_ports > FILTER_PORT_RANGES) {
    throwRange(env, "a rule can have " + std::to_string(FILTER_PORT_RANGES) + " port ranges a side");
  }
  rule.length_min = record.length_min;
  rule.length_max = record.length_max;
  std::memcpy(rule.ports, record.source_ranges, sizeof record.source_ranges);
  std::memcpy(rule.ports + FILTER_PORT_RANGES, record.destination_ranges, sizeof record.destination_ranges);
  std::memcpy(rule.protocols, record.protocols, sizeof record.protocols);
  readPrefixes(env, record, wanted);
  return wanted;
}

Napi::Object countsObject(const Napi::Env& env, const filter_count& count) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("packets", numberOf(count.packets));
  object.Set("bytes", numberOf(count.bytes));
  return object;
}

Napi::Object portObject(const Napi::Env& env, const PortStatus& port) {
  const auto textOrNull = [&](const std::string& text) -> Napi::Value {
    return text.empty() ? env.Null() : Napi::String::New(env, text).As<Napi::Value>();
  };
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", port.interface);
  object.Set("state", port.isAttached ? "attached" : "failed");
  object.Set("mode", textOrNull(port.mode));
  object.Set("error", textOrNull(port.error));
  return object;
}

}  // namespace

std::vector<PairKey> pairsOf(const Napi::Env& env, std::span<const std::uint8_t> bytes) {
  if (bytes.size() % kPairBytes != 0) throwRange(env, "addresses must be of 32 bytes a pair");
  std::vector<PairKey> pairs;
  for (std::size_t at = 0; at < bytes.size(); at += kPairBytes) {
    pairs.push_back({.source = addressAt(bytes, at), .victim = addressAt(bytes, at + kEndBytes)});
  }
  return pairs;
}

std::vector<std::uint64_t> expiriesOf(const Napi::Env& env, std::span<const double> wallMs, std::size_t count) {
  if (wallMs.size() != count) throwRange(env, "expiresAtMs must be one for each pair");
  std::vector<std::uint64_t> expiries;
  for (const double one : wallMs) {
    if (!std::isfinite(one)) throwRange(env, "expiresAtMs must be finite");
    expiries.push_back(bootNsFromWallMs(one));
  }
  return expiries;
}

std::vector<WantedRule> rulesOf(const Napi::Env& env, const Napi::Value& ids, std::span<const std::uint8_t> bytes,
                                std::span<const std::uint8_t> details) {
  if (!ids.IsArray()) throw Napi::TypeError::New(env, "ids must be an array");
  const auto names = ids.As<Napi::Array>();
  if (bytes.size() != names.Length() * sizeof(rule_record)) {
    throwRange(env, "rules must be of " + std::to_string(sizeof(rule_record)) + " bytes for each identifier");
  }
  std::vector<WantedRule> rules;
  for (std::uint32_t i = 0; i < names.Length(); i++) {
    const Napi::Value name = names[i];
    if (!name.IsString()) throw Napi::TypeError::New(env, "ids must be strings");
    rule_record record;
    std::memcpy(&record, bytes.data() + i * sizeof record, sizeof record);
    rules.push_back(ruleOf(env, name.As<Napi::String>().Utf8Value(), record));
    readDetails(env, record, details, rules.back());
  }
  return rules;
}

std::vector<OperatorEntry> operatorEntriesOf(const Napi::Env& env, std::span<const std::uint8_t> bytes,
                                             std::size_t rules) {
  if (bytes.size() % sizeof(operator_entry_record) != 0) throwRange(env, "operatorEntries must be of 24 bytes each");
  std::vector<OperatorEntry> entries;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(operator_entry_record)) {
    operator_entry_record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (record.rule >= rules) throwRange(env, "operatorEntries must name rules that come with them");
    const SetPrefix destination = prefixAt(env, addressOf(record.destination), record.destination_length);
    entries.push_back({.destination = destination.address, .length = destination.length, .rule = record.rule});
  }
  return entries;
}

std::vector<SetPrefix> prefixesOf(const Napi::Env& env, std::span<const std::uint8_t> addresses,
                                  std::span<const std::uint8_t> lengths) {
  if (addresses.size() != lengths.size() * kEndBytes) throwRange(env, "addresses must be of 16 bytes a length");
  std::vector<SetPrefix> prefixes;
  for (std::size_t i = 0; i < lengths.size(); i++) {
    prefixes.push_back(prefixAt(env, addressAt(addresses, i * kEndBytes), lengths[i]));
  }
  return prefixes;
}

Napi::Object rulesObject(const Napi::Env& env, const std::vector<RuleHits>& rules) {
  Napi::Array ids = Napi::Array::New(env, rules.size());
  auto counts = Napi::Float64Array::New(env, rules.size() * kRuleColumns);
  for (std::uint32_t i = 0; i < rules.size(); i++) {
    const RuleHits& hits = rules[i];
    ids.Set(i, hits.id);
    const std::array<double, kRuleColumns> row = {wallMsFromBootNs(hits.expiresAtNs), numberOf(hits.all.packets),
                                                  numberOf(hits.all.bytes),           numberOf(hits.dropped.packets),
                                                  numberOf(hits.dropped.bytes),       numberOf(hits.answered.packets),
                                                  numberOf(hits.answered.bytes),      numberOf(hits.validated)};
    std::copy(row.begin(), row.end(), counts.Data() + i * kRuleColumns);
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("ids", ids);
  object.Set("rows", counts);
  return object;
}

Napi::Object verdictsObject(const Napi::Env& env, const filter_stats& stats) {
  Napi::Object object = Napi::Object::New(env);
  for (std::size_t i = 0; i < kVerdicts.size(); i++) object.Set(kVerdicts[i], countsObject(env, stats.verdicts[i]));
  return object;
}

Napi::Object statusObject(const Napi::Env& env, const KernelFilterStatus& status) {
  Napi::Array ports = Napi::Array::New(env, status.ports.size());
  for (std::uint32_t i = 0; i < status.ports.size(); i++) ports.Set(i, portObject(env, status.ports[i]));
  Napi::Object object = Napi::Object::New(env);
  object.Set("schema", FILTER_SCHEMA);
  object.Set("origin", kFilterOrigins.at(static_cast<std::size_t>(status.origin)));
  object.Set("interfaces", ports);
  object.Set("verdicts", verdictsObject(env, status.stats));
  object.Set("pairs", status.pairs);
  object.Set("rules", status.rules);
  object.Set("maxPairs", status.shape.pairsMax);
  object.Set("maxRules", status.shape.rulesMax);
  object.Set("maxSources", status.shape.sourcesMax);
  object.Set("forward", env.Null());
  if (!status.forward) return object;
  Napi::Array egress = Napi::Array::New(env);
  for (std::uint32_t i = 0; i < status.forward->egress.size(); i++) egress.Set(i, status.forward->egress[i]);
  const auto forward = forwardObject(env, status.forward->stats).As<Napi::Object>();
  forward.Set("egress", egress);
  forward.Set("keepsRoutes", status.forward->keepsRoutes);
  object.Set("forward", forward);
  return object;
}

}  // namespace floodwall::binding
