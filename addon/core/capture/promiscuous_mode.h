// Promiscuous mode of an interface for as long as a process wants it: a mirror port gets frames for other stations,
// which network cards leave out otherwise.
#pragma once

#include "base/unique_fd.h"
#include "device/network_device.h"

namespace floodwall {

/// A membership in the kernel's count of those who want it (packet(7), PACKET_MR_PROMISC). It ends with the descriptor,
/// so that a killed process leaves nothing switched on. Throws SourceError.
[[nodiscard]] UniqueFd wantPromiscuousMode(const NetworkDevice& device);

}  // namespace floodwall
