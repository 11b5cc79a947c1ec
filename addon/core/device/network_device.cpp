#include "device/network_device.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/source_error.h"

namespace floodwall {
namespace {

SourceError unknown(const std::string& name, int error) {
  return SourceError{"the kernel does not answer about interface " + name + ": " + strerror(error)};
}

/// For a driver that does not report its channels. sysfs shows the namespace in which it was mounted: an interface
/// that is not there has one queue.
std::uint32_t rxQueuesFromSysfs(const std::string& name) {
  std::uint32_t queues = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net/" + name + "/queues", error)) {
    if (entry.path().filename().string().starts_with("rx-")) queues++;
  }
  if (error && error != std::errc::no_such_file_or_directory) throw unknown(name, error.value());
  return std::max(queues, 1U);
}

std::uint32_t rxQueues(int fd, ifreq& request, const std::string& name) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(fd, SIOCETHTOOL, &request) != 0) return rxQueuesFromSysfs(name);
  return std::max(channels.rx_count + channels.combined_count, 1U);
}

/// As the driver reports it: IFF_RUNNING follows up to a second later.
bool hasCarrier(int fd, ifreq& request, bool isRunning) {
  ethtool_value link{};
  link.cmd = ETHTOOL_GLINK;
  request.ifr_data = reinterpret_cast<char*>(&link);
  return ioctl(fd, SIOCETHTOOL, &request) == 0 ? link.data != 0 : isRunning;
}

}  // namespace

NetworkDevices::NetworkDevices() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (!socket_) throw SourceError(std::string("no socket to ask about interfaces: ") + strerror(errno));
}

std::optional<NetworkDevice> NetworkDevices::find(const std::string& name) const {
  if (name.empty() || name.size() >= IFNAMSIZ) return std::nullopt;
  const int fd = socket_.get();
  ifreq request{};
  std::memcpy(request.ifr_name, name.c_str(), name.size());
  const auto answers = [&](unsigned long what) {
    if (ioctl(fd, what, &request) == 0) return true;
    if (errno == ENODEV) return false;
    throw unknown(name, errno);
  };
  if (!answers(SIOCGIFINDEX)) return std::nullopt;
  NetworkDevice device{.name = name, .index = static_cast<unsigned>(request.ifr_ifindex)};
  if (!answers(SIOCGIFFLAGS)) return std::nullopt;
  device.isUp = (request.ifr_flags & IFF_UP) != 0;
  const bool isRunning = (request.ifr_flags & IFF_RUNNING) != 0;
  if (!answers(SIOCGIFMTU)) return std::nullopt;
  device.mtu = static_cast<std::uint32_t>(request.ifr_mtu);
  device.hasCarrier = hasCarrier(fd, request, isRunning);
  device.rxQueues = rxQueues(fd, request, name);
  return device;
}

NetworkDevice NetworkDevices::require(const std::string& name) const {
  if (auto device = find(name)) return *device;
  throw SourceError("interface " + name + " does not exist: create it, or correct its name in capture.interfaces");
}

std::string linkFault(const NetworkDevice& device) {
  if (!device.isUp) return "interface " + device.name + " is down: set it up with `ip link set " + device.name + " up`";
  if (!device.hasCarrier) return "interface " + device.name + " has no carrier: check the cable and the far end";
  return {};
}

}  // namespace floodwall
