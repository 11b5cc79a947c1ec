#include "device/native_xdp.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "device/netdev_family.h"

namespace floodwall {
namespace {

/// A driver that receives each frame into one page, beside this much of its own: room for XDP, link headers, and what
/// the kernel keeps behind a packet.
struct PageDriver {
  std::string_view name;
  std::uint32_t overhead;
};
constexpr std::array<PageDriver, 7> kPageDrivers = {{{"veth", 590},
                                                     {"virtio_net", 590},
                                                     {"hv_netvsc", 590},
                                                     {"ena", 598},
                                                     {"mlx4_en", 598},
                                                     {"mlx5_core", 598},
                                                     {"bnxt_en", 274}}};

/// A driver with buffers of a fixed size: 3 KiB where a page is 4 KiB, else 2 KiB.
struct BufferDriver {
  std::string_view name;
  std::uint32_t linkHeaders;
};
constexpr std::array<BufferDriver, 4> kBufferDrivers = {{{"ixgbe", 22}, {"igb", 22}, {"i40e", 26}, {"ice", 26}}};
constexpr std::uint32_t kBuffer = 3072, kBufferOfLargePages = 2048;
constexpr std::size_t kLargePage = 8192;

/// These switch GRO_HW off by themselves while a program is attached.
constexpr std::array<std::string_view, 3> kEndGroHw = {"virtio_net", "bnxt_en", "qede"};

bool isIn(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void addQueueObstacles(const NetworkDevice& device, const DeviceDetails& details, std::vector<Obstacle>& found) {
  if (!details.combined) return;
  const auto [now, most] = *details.combined;
  // It needs a TX queue of its own for each RX queue.
  if (details.driver == "ena" && now > 1 && now * 2 > most) {
    found.push_back({std::to_string(now) + " queues are in use, and the driver ena takes XDP with half of its " +
                         std::to_string(most) + " alone",
                     "`ethtool -L " + device.name + " combined " + std::to_string(std::max(1U, most / 2)) + "`"});
  }
  if (details.driver == "bnxt_en" && now == 0 && most > 0) {
    found.push_back({"RX and TX queues are apart, and the driver bnxt_en takes XDP with combined ones alone",
                     "`ethtool -L " + device.name + " rx 0 tx 0 combined " +
                         std::to_string(std::min(most, device.rxQueues)) + "`"});
  }
}

}  // namespace

std::optional<std::uint32_t> nativeMtuMost(const std::string& driver, std::size_t pageBytes) {
  if (driver == "igc") return 1500;
  for (const auto& [name, overhead] : kPageDrivers) {
    if (name == driver) return static_cast<std::uint32_t>(pageBytes) - overhead;
  }
  for (const auto& [name, linkHeaders] : kBufferDrivers) {
    if (name == driver) return (pageBytes < kLargePage ? kBuffer : kBufferOfLargePages) - linkHeaders;
  }
  return std::nullopt;
}

namespace {

Obstacle tooManyPeerQueues(const NetworkDevice& device) {
  const std::string queues = std::to_string(device.rxQueues);
  return {"the far end of the veth has more TX queues than this end has RX queues, " + queues,
          "at the far end `ethtool -L NAME tx " + queues + "`"};
}

/// The meaning of a driver's errno, where older kernels do not show it before (drivers/net of Linux 6.1).
std::optional<Obstacle> meaningOf(int error, const NetworkDevice& device, const std::string& driver) {
  if (driver == "veth" && error == ENOSPC) return tooManyPeerQueues(device);
  if (driver == "virtio_net" && error == EOPNOTSUPP) {
    return Obstacle{"the host merges frames for this device and does not let it switch that off",
                    "at the host, QEMU's `ctrl_guest_offloads=on`, or `guest_tso4=off,guest_tso6=off,guest_ecn=off,"
                    "guest_ufo=off` of the device"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Obstacle> nativeObstacles(const NetworkDevice& device, const DeviceDetails& details,
                                      std::optional<std::uint64_t> features) {
  std::vector<Obstacle> found;
  if (features && (*features & kXdpBasic) == 0) {
    return {details.driver == "veth" ? tooManyPeerQueues(device) : Obstacle{"the driver has no native XDP", ""}};
  }
  const bool takesPieces = features && (*features & kXdpFragments) != 0;
  const auto mtuMost = nativeMtuMost(details.driver, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  if (mtuMost && device.mtu > *mtuMost && !takesPieces) {
    found.push_back({"the MTU is " + std::to_string(device.mtu) + ", and the driver " + details.driver +
                         " takes native XDP up to " + std::to_string(*mtuMost),
                     "`ip link set " + device.name + " mtu " + std::to_string(*mtuMost) + "`"});
  }
  if (details.lro == true) found.push_back({"LRO is on", "`ethtool -K " + device.name + " lro off`"});
  if (details.groHw == true && !isIn(kEndGroHw, details.driver)) {
    found.push_back({"GRO_HW is on", "`ethtool -K " + device.name + " rx-gro-hw off`"});
  }
  addQueueObstacles(device, details, found);
  return found;
}

std::string nativeRefusal(const NetworkDevice& device, const std::string& driver, std::vector<Obstacle> obstacles,
                          int error) {
  if (const auto meaning = meaningOf(error, device, driver)) obstacles = {*meaning};
  const auto isForGood = [](const Obstacle& obstacle) { return obstacle.remedy.empty(); };
  if (error == EOPNOTSUPP && std::all_of(obstacles.begin(), obstacles.end(), isForGood)) {
    return "the driver has no native XDP";
  }
  std::string text =
      "the driver " + (driver.empty() ? "" : driver + " ") + "refused native XDP (" + strerror(error) + ")";
  if (obstacles.empty()) return text + ", often because of the MTU, now " + std::to_string(device.mtu);
  const char* before = ": ";
  for (const Obstacle& obstacle : obstacles) {
    text += before + obstacle.found;
    if (!obstacle.remedy.empty()) text += ": " + obstacle.remedy;
    before = "; ";
  }
  return text;
}

}  // namespace floodwall
