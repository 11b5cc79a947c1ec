#include "device/device_details.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/unique_fd.h"

namespace floodwall {
namespace {

/// Asks the ethtool interface of the kernel about one device.
class Ethtool {
 public:
  explicit Ethtool(const std::string& interface) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    interface.copy(request_.ifr_name, IFNAMSIZ - 1);
  }

  /// Whether the driver answered.
  bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return fd_ && ioctl(fd_.get(), SIOCETHTOOL, &request_) == 0;
  }

 private:
  UniqueFd fd_;
  ifreq request_{};
};

template <std::size_t size>
std::string textOf(const char (&field)[size]) {
  return {field, strnlen(field, size)};
}

/// A command whose answer is longer than its struct, in words so that it lies where a struct may.
template <typename Command>
class LongCommand {
 public:
  explicit LongCommand(std::size_t tailBytes)
      : words_((sizeof(Command) + tailBytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)) {}
  Command* operator->() { return reinterpret_cast<Command*>(words_.data()); }
  [[nodiscard]] void* data() { return words_.data(); }

 private:
  std::vector<std::uint64_t> words_;
};

std::uint32_t countOfFeatures(Ethtool& ethtool) {
  LongCommand<ethtool_sset_info> info(sizeof(std::uint32_t));
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ULL << ETH_SS_FEATURES;
  return ethtool.ask(info.data()) && info->sset_mask != 0 ? info->data[0] : 0;
}

void readFeatures(Ethtool& ethtool, DeviceDetails& details) {
  const std::uint32_t count = countOfFeatures(ethtool);
  const std::uint32_t blocks = (count + 31) / 32;
  LongCommand<ethtool_gstrings> names(std::size_t{count} * ETH_GSTRING_LEN);
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_FEATURES;
  names->len = count;
  LongCommand<ethtool_gfeatures> features(blocks * sizeof(ethtool_get_features_block));
  features->cmd = ETHTOOL_GFEATURES;
  features->size = blocks;
  if (count == 0 || !ethtool.ask(names.data()) || !ethtool.ask(features.data())) return;
  for (std::uint32_t i = 0; i < count; i++) {
    const char* field = reinterpret_cast<const char*>(names->data) + std::size_t{i} * ETH_GSTRING_LEN;
    const std::string_view name(field, strnlen(field, ETH_GSTRING_LEN));
    const bool isOn = (features->features[i / 32].active >> (i % 32) & 1U) != 0;
    if (name == "rx-lro") details.lro = isOn;
    if (name == "rx-gro-hw") details.groHw = isOn;
    if (name == "rx-gro") details.gro = isOn;
    if (name == "rx-vlan-hw-parse") details.rxVlan = isOn;
  }
}

std::uint32_t vlansOn(const std::string& interface) {
  // Not there where no VLAN device is, or the kernel has none.
  std::ifstream vlans("/proc/net/vlan/config");
  return countVlanDevices(vlans, interface);
}

/// Over the interface, or the bond or bridge that it is a part of. A bridge that filters by VLAN is one.
std::uint32_t vlansOver(const std::string& interface) {
  const std::string master = "/sys/class/net/" + interface + "/master";
  std::error_code none;
  const std::string name = std::filesystem::read_symlink(master, none).filename();
  std::ifstream filtering(master + "/bridge/vlan_filtering");
  std::uint32_t filters = 0;
  filtering >> filters;
  return vlansOn(interface) + (none ? 0 : vlansOn(name) + filters);
}

}  // namespace

DeviceDetails readDeviceDetails(const std::string& interface) {
  Ethtool ethtool(interface);
  DeviceDetails details;
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (ethtool.ask(&driver)) {
    details.driver = textOf(driver.driver);
    details.driverVersion = textOf(driver.version);
    details.bus = textOf(driver.bus_info);
  }
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (ethtool.ask(&channels)) {
    details.rxQueues = {.now = channels.rx_count + channels.combined_count,
                        .most = channels.max_rx + channels.max_combined};
    details.txQueues = {.now = channels.tx_count + channels.combined_count,
                        .most = channels.max_tx + channels.max_combined};
    details.combined = {.now = channels.combined_count, .most = channels.max_combined};
  }
  ethtool_ringparam rings{};
  rings.cmd = ETHTOOL_GRINGPARAM;
  if (ethtool.ask(&rings)) details.rxRing = {.now = rings.rx_pending, .most = rings.rx_max_pending};
  readFeatures(ethtool, details);
  details.vlanDevices = vlansOver(interface);
  return details;
}

// `eth0.100      | 100  | eth0`, below two lines that head the columns.
std::uint32_t countVlanDevices(std::istream& config, std::string_view interface) {
  std::uint32_t devices = 0;
  for (std::string line; std::getline(config, line);) {
    const std::size_t column = line.rfind("| ");
    if (column != std::string::npos && line.substr(column + 2) == interface) devices++;
  }
  return devices;
}

}  // namespace floodwall
