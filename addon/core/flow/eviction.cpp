#include "flow/eviction.h"

#include <algorithm>

#include "flow/flow_bounds.h"

namespace floodwall {

EvictionRank evictionRankOf(std::uint64_t seenMs, const Use& use, bool isOfStranger, std::uint64_t nowMs) noexcept {
  const std::uint64_t lastMs = std::max(seenMs, use.lastMs);
  if (nowMs > lastMs && nowMs - lastMs > kFlowIdleMs) return EvictionRank::idle;
  if (use.lastMs == 0) return isOfStranger ? EvictionRank::strange : EvictionRank::unproven;
  return use.lastMs - use.firstMs < kEstablishedMs ? EvictionRank::proven : EvictionRank::kept;
}

}  // namespace floodwall
