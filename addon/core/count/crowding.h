// How a table that is nearly full makes room: when silent hosts leave, and how many rows are beyond its limit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace floodwall {

/// `used` of `limit` rows are taken: the fuller the table, the sooner silent hosts make room. Otherwise a few packets a
/// minute to each of very many hosts would keep it full, and a flood on a further host would find no row.
[[nodiscard]] constexpr std::uint32_t idleMsWhen(std::uint32_t used, std::uint32_t limit,
                                                 std::uint32_t idleMs) noexcept {
  const std::uint64_t sixteenths = std::uint64_t{used} * 16 / std::max(limit, 1U);
  if (sixteenths < 12) return idleMs;
  return std::min(idleMs, sixteenths < 14 ? 2'000U : sixteenths < 15 ? 1'000U : 500U);
}

[[nodiscard]] constexpr bool isFull(std::uint32_t used, std::uint32_t limit) noexcept {
  return std::uint64_t{used} * 16 >= std::uint64_t{limit} * 15;
}

/// Rows of a shard beyond its limit, for hosts that come with much traffic while it is full. As many light hosts lose
/// theirs with the next folds.
[[nodiscard]] constexpr std::uint32_t reserveRows(std::uint32_t limit) noexcept {
  return std::clamp(limit / 64, 1U, 4096U);
}

}  // namespace floodwall
