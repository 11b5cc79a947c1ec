// What stands in the way of native XDP, from what a device says; and what is said once a driver has refused.
#include "device/native_xdp.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "device/netdev_family.h"

using namespace floodwall;

namespace {

NetworkDevice deviceWith(std::uint32_t mtu, std::uint32_t rxQueues = 4) {
  NetworkDevice device{.name = "eth0", .index = 2, .isUp = true, .hasCarrier = true, .mtu = mtu, .rxQueues = rxQueues};
  return device;
}

DeviceDetails detailsOf(const std::string& driver) {
  DeviceDetails details;
  details.driver = driver;
  return details;
}

std::string textOf(const std::vector<Obstacle>& obstacles) {
  std::string text;
  for (const auto& [found, remedy] : obstacles) text += found + " -> " + remedy + "\n";
  return text;
}

constexpr std::uint64_t kCannotSplit = kXdpBasic | kXdpRedirect;
constexpr std::uint64_t kCanSplit = kCannotSplit | kXdpFragments;

}  // namespace

TEST_CASE("the largest MTU is that of the driver's buffers") {
  CHECK(nativeMtuMost("ixgbe", 4096) == 3050);
  CHECK(nativeMtuMost("i40e", 4096) == 3046);
  CHECK(nativeMtuMost("ice", 65536) == 2022);
  CHECK(nativeMtuMost("ena", 4096) == 3498);
  CHECK(nativeMtuMost("mlx5_core", 4096) == 3498);
  CHECK(nativeMtuMost("virtio_net", 4096) == 3506);
  CHECK(nativeMtuMost("veth", 65536) == 65536 - 590);
  CHECK(nativeMtuMost("igc", 4096) == 1500);
  CHECK_FALSE(nativeMtuMost("some_new_driver", 4096));
}

TEST_CASE("an MTU above the limit is an obstacle, unless the driver takes frames in pieces") {
  const DeviceDetails details = detailsOf("igc");
  CHECK(nativeObstacles(deviceWith(1500), details, kCannotSplit).empty());
  CHECK(textOf(nativeObstacles(deviceWith(1501), details, kCannotSplit)) ==
        "the MTU is 1501, and the driver igc takes native XDP up to 1500 -> `ip link set eth0 mtu 1500`\n");
  CHECK(nativeObstacles(deviceWith(9000), details, std::nullopt).size() == 1);
  CHECK(nativeObstacles(deviceWith(9000), details, kCanSplit).empty());
  CHECK(nativeObstacles(deviceWith(9000), detailsOf("some_new_driver"), kCannotSplit).empty());
}

TEST_CASE("offloads that merge packets are obstacles, where the driver does not end them by itself") {
  DeviceDetails details = detailsOf("mlx5_core");
  details.lro = true;
  details.groHw = true;
  CHECK(textOf(nativeObstacles(deviceWith(1500), details, kCanSplit)) ==
        "LRO is on -> `ethtool -K eth0 lro off`\nGRO_HW is on -> `ethtool -K eth0 rx-gro-hw off`\n");
  details.lro = false;
  details.driver = "virtio_net";
  CHECK(nativeObstacles(deviceWith(1500), details, kCanSplit).empty());
}

TEST_CASE("queues that leave none for XDP are an obstacle") {
  DeviceDetails details = detailsOf("ena");
  details.combined = NowAndMost{.now = 4, .most = 8};
  CHECK(nativeObstacles(deviceWith(1500), details, kCannotSplit).empty());
  details.combined = NowAndMost{.now = 5, .most = 8};
  CHECK(textOf(nativeObstacles(deviceWith(1500), details, kCannotSplit)) ==
        "5 queues are in use, and the driver ena takes XDP with half of its 8 alone -> `ethtool -L eth0 combined 4`\n");
  details = detailsOf("bnxt_en");
  details.combined = NowAndMost{.now = 0, .most = 8};
  CHECK(textOf(nativeObstacles(deviceWith(1500, 4), details, kCanSplit))
            .ends_with("-> `ethtool -L eth0 rx 0 tx 0 combined 4`\n"));
}

TEST_CASE("a driver without native XDP has no remedy; a veth whose far end sends by more queues has one") {
  CHECK(textOf(nativeObstacles(deviceWith(65536), detailsOf(""), 0)) == "the driver has no native XDP -> \n");
  CHECK(
      textOf(nativeObstacles(deviceWith(1500, 1), detailsOf("veth"), 0)) ==
      "the far end of the veth has more TX queues than this end has RX queues, 1 -> at the far end `ethtool -L NAME tx "
      "1`\n");
  // A kernel that does not say is no obstacle.
  CHECK(nativeObstacles(deviceWith(1500), detailsOf("veth"), std::nullopt).empty());
}

TEST_CASE("a refusal names what was found in the way, with the command that removes it") {
  DeviceDetails details = detailsOf("ixgbe");
  details.lro = true;
  const NetworkDevice device = deviceWith(9000);
  CHECK(
      nativeRefusal(device, "ixgbe", nativeObstacles(device, details, kCannotSplit), EINVAL) ==
      "the driver ixgbe refused native XDP (Invalid argument): the MTU is 9000, and the driver ixgbe takes native XDP "
      "up to 3050: `ip link set eth0 mtu 3050`; LRO is on: `ethtool -K eth0 lro off`");
  CHECK(nativeRefusal(device, "other", {}, EINVAL) ==
        "the driver other refused native XDP (Invalid argument), often because of the MTU, now 9000");
  CHECK(nativeRefusal(device, "", {}, EOPNOTSUPP) == "the driver has no native XDP");
  // What an errno of these means, older kernels do not show beforehand.
  CHECK(nativeRefusal(device, "veth", {}, ENOSPC)
            .starts_with("the driver veth refused native XDP (No space left on device): the far end of the veth has "
                         "more TX queues"));
  CHECK(nativeRefusal(device, "virtio_net", {}, EOPNOTSUPP)
            .starts_with("the driver virtio_net refused native XDP (Operation not supported): the host merges frames "
                         "for this device"));
  CHECK(nativeRefusal(device, "", nativeObstacles(device, detailsOf(""), 0), EOPNOTSUPP) ==
        "the driver has no native XDP");
}
