#include "filter/forward_ports.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "device/device_details.h"
#include "device/netdev_family.h"

namespace floodwall {
namespace {

/// With a program of their own they have queues to send what is redirected to them (drivers/net of Linux 6.1). Of veth
/// it is the far end that decides, which cannot be seen from here.
constexpr std::array<std::string_view, 12> kSendWithProgram = {
    "mlx5_core", "mlx4_en", "ice", "i40e", "ixgbe", "igb", "igc", "bnxt_en", "ena", "sfc", "qede", "virtio_net"};

template <typename Value>
void put(int map, std::uint32_t index, const Value& value) {
  // A full table leaves the rest to the kernel.
  bpf_map_update_elem(map, &index, &value, BPF_ANY);
}

}  // namespace

bool takesRedirects(const ListedLink& link, const std::uint64_t* features, const std::string& driver) {
  if (!link.isUp || !link.isEthernet) return false;
  if (features != nullptr) return (*features & kXdpTakesRedirects) != 0;
  return link.hasNativeProgram &&
         std::find(kSendWithProgram.begin(), kSendWithProgram.end(), driver) != kSendWithProgram.end();
}

ForwardPorts::ForwardPorts(const ForwardMaps& maps, std::vector<std::string> interfaces)
    : maps_(maps), interfaces_(std::move(interfaces)) {}

void ForwardPorts::follow() {
  const auto links = listLinks();
  if (!links) return;
  putArrivals(*links);
  putEgress(*links);
}

void ForwardPorts::putArrivals(const std::vector<ListedLink>& links) {
  const int map = maps_.fd(ForwardMaps::ports);
  std::set<std::uint32_t> there;
  for (const ListedLink& link : links) {
    // Frames that arrive on a part of a bridge or a bond are not for that interface to route.
    if (link.hasMaster || !link.isEthernet) continue;
    if (std::find(interfaces_.begin(), interfaces_.end(), link.name) == interfaces_.end()) continue;
    forward_port port{};
    std::copy(link.mac.begin(), link.mac.end(), std::begin(port.mac));
    put(map, link.index, port);
    there.insert(link.index);
  }
  for (const std::uint32_t index : arrivals_) {
    if (!there.contains(index)) bpf_map_delete_elem(map, &index);
  }
  arrivals_ = std::move(there);
}

void ForwardPorts::putEgress(const std::vector<ListedLink>& links) {
  const int map = maps_.fd(ForwardMaps::egress);
  const auto features = allXdpFeatures();
  std::unordered_map<std::uint32_t, std::string> there;
  for (const ListedLink& link : links) {
    const std::uint64_t* ofLink = nullptr;
    if (features) {
      const auto found = features->find(link.index);
      if (found == features->end()) continue;
      ofLink = &found->second;
    }
    const std::string driver = features || !link.hasNativeProgram ? "" : readDeviceDetails(link.name).driver;
    if (!takesRedirects(link, ofLink, driver)) continue;
    // Also where it is there already: an index may be that of another interface by now.
    put(map, link.index, link.index);
    there.emplace(link.index, link.name);
  }
  for (const auto& [index, name] : leaving_) {
    if (!there.contains(index)) bpf_map_delete_elem(map, &index);
  }
  leaving_ = std::move(there);
  egress_.clear();
  for (const auto& [index, name] : leaving_) egress_.push_back(name);
  std::sort(egress_.begin(), egress_.end());
}

}  // namespace floodwall
