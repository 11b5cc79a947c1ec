// Turns the options into the plan of frames: one to a few header templates with their partial check sums.
#pragma once

#include "traffic_options.h"
#include "traffic_plan.h"

namespace floodwall::lab {

/// Throws UsageError on an address or a profile that it cannot use.
[[nodiscard]] traffic_plan makePlan(const TrafficOptions& options);

}  // namespace floodwall::lab
