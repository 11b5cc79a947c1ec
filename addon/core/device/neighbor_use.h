// Reports to the kernel that a neighbor is in use, where only a program of ours sends to it.
#pragma once

#include <cstdint>
#include <span>

namespace floodwall {

/// The kernel then resolves the next hop towards the address (4 bytes or 16) if its entry is stale or missing: a
/// look-up from XDP does not cause that (bpf_fib_lookup uses stale entries). Does nothing if there is no route.
void useNeighborTowards(std::span<const std::uint8_t> address);

}  // namespace floodwall
