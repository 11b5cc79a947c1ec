// The rows of native.d.ts that pairs, rules and lists cross in, to and from the core's types.
#pragma once

#include <napi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "filter/kernel_filter.h"

namespace floodwall::binding {

constexpr std::size_t kPairBytes = sizeof(PairKey);

/// 32 bytes a pair: source, victim.
[[nodiscard]] std::vector<PairKey> pairsOf(const Napi::Env& env, std::span<const std::uint8_t> bytes);
/// Wall times in milliseconds onto the boot-time clock; as many as there are pairs.
[[nodiscard]] std::vector<std::uint64_t> expiriesOf(const Napi::Env& env, std::span<const double> wallMs,
                                                    std::size_t count);
/// A rule_record each.
[[nodiscard]] std::vector<WantedRule> rulesOf(const Napi::Env& env, const Napi::Value& ids,
                                              std::span<const std::uint8_t> bytes,
                                              std::span<const std::uint8_t> details);
/// The operator's rules among the rules. @param rules their number.
[[nodiscard]] std::vector<OperatorEntry> operatorEntriesOf(const Napi::Env& env, std::span<const std::uint8_t> bytes,
                                                           std::size_t rules);
/// 16 bytes and a length each.
[[nodiscard]] std::vector<SetPrefix> prefixesOf(const Napi::Env& env, std::span<const std::uint8_t> addresses,
                                                std::span<const std::uint8_t> lengths);

[[nodiscard]] Napi::Object rulesObject(const Napi::Env& env, const std::vector<RuleHits>& rules);
[[nodiscard]] Napi::Object statusObject(const Napi::Env& env, const KernelFilterStatus& status);
[[nodiscard]] Napi::Object verdictsObject(const Napi::Env& env, const filter_stats& stats);

}  // namespace floodwall::binding
