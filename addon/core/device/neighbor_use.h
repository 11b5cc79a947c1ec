// Tells the kernel that a neighbor is in use, where only a program of ours sends to it.
#pragma once

#include <cstdint>
#include <span>

namespace floodwall {

/// The kernel then asks for the next hop towards the address (4 bytes or 16) where it has not been confirmed lately, or
/// is not known: a look-up from XDP does not make it ask (bpf_fib_lookup takes what is stale). Nothing where there is
/// no route.
void useNeighborTowards(std::span<const std::uint8_t> address);

}  // namespace floodwall
