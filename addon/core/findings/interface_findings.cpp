#include "findings/interface_findings.h"

#include <unistd.h>

#include "device/netdev_family.h"

namespace floodwall {

std::optional<InterfaceFindings> readInterface(const std::string& name) {
  prepareBpf();
  const auto device = NetworkDevices().find(name);
  if (!device) return std::nullopt;
  InterfaceFindings found{.device = *device,
                          .details = readDeviceDetails(name),
                          .nativeMtuMost = std::nullopt,
                          .xdpFeatures = xdpFeatures(device->index),
                          .nativeObstacles = {},
                          .attached = attachedProgram(*device)};
  found.nativeMtuMost = nativeMtuMost(found.details.driver, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  found.nativeObstacles = nativeObstacles(*device, found.details, found.xdpFeatures);
  return found;
}

}  // namespace floodwall
