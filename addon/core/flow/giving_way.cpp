#include "flow/giving_way.h"

#include <algorithm>

#include "flow/flow_bounds.h"

namespace floodwall {

GivingWay givingWayOf(std::uint64_t seenMs, const Use& use, bool isOfStranger, std::uint64_t nowMs) noexcept {
  const std::uint64_t lastMs = std::max(seenMs, use.lastMs);
  if (nowMs > lastMs && nowMs - lastMs > kFlowIdleMs) return GivingWay::idle;
  if (use.lastMs == 0) return isOfStranger ? GivingWay::strange : GivingWay::unproven;
  return use.lastMs - use.firstMs < kEstablishedMs ? GivingWay::proven : GivingWay::kept;
}

}  // namespace floodwall
