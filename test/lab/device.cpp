#include "device.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace floodwall::lab {

namespace {

/// Linux gives the first network namespace this inode number (NET_NS_INIT_INO, since 6.18).
constexpr ino_t kInitNamespace = 0xeffffff9;

bool isSame(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool isNamed(const struct stat& own) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", ignored)) {
    struct stat named {};
    if (stat(entry.path().c_str(), &named) == 0 && isSame(named, own)) return true;
  }
  return false;
}

class Ethtool {
 public:
  explicit Ethtool(const std::string& device) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (socket_ < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
    device.copy(request_.ifr_name, IFNAMSIZ - 1);
  }
  Ethtool(const Ethtool&) = delete;
  Ethtool& operator=(const Ethtool&) = delete;
  ~Ethtool() { close(socket_); }

  [[nodiscard]] bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return ioctl(socket_, SIOCETHTOOL, &request_) == 0;
  }

 private:
  int socket_;
  ifreq request_{};
};

/// The sum of the statistics of all queues whose name ends so.
std::uint64_t sumStatistics(const std::string& device, const std::string& ending) {
  Ethtool ethtool(device);
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!ethtool.ask(&info)) throw std::runtime_error(device + ": ethtool: " + std::strerror(errno));

  std::vector<char> names(sizeof(ethtool_gstrings) + std::size_t{info.n_stats} * ETH_GSTRING_LEN);
  std::vector<std::uint64_t> values(sizeof(ethtool_stats) / 8 + info.n_stats);
  ethtool_gstrings wantNames{};
  wantNames.cmd = ETHTOOL_GSTRINGS;
  wantNames.string_set = ETH_SS_STATS;
  wantNames.len = info.n_stats;
  ethtool_stats wantValues{};
  wantValues.cmd = ETHTOOL_GSTATS;
  wantValues.n_stats = info.n_stats;
  std::memcpy(names.data(), &wantNames, sizeof(wantNames));
  std::memcpy(values.data(), &wantValues, sizeof(wantValues));
  if (!ethtool.ask(names.data()) || !ethtool.ask(values.data())) {
    throw std::runtime_error(device + ": ethtool statistics: " + std::strerror(errno));
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < info.n_stats; i++) {
    const char* name = names.data() + sizeof(ethtool_gstrings) + i * ETH_GSTRING_LEN;
    std::string text(name, strnlen(name, ETH_GSTRING_LEN));
    if (text.starts_with("tx_queue_") && text.ends_with(ending)) sum += values[sizeof(ethtool_stats) / 8 + i];
  }
  return sum;
}

/// The twelfth number of the device's line: frames that could not be sent.
std::uint64_t sendDrops(const std::string& device) {
  std::ifstream table("/proc/self/net/dev");
  for (std::string line; std::getline(table, line);) {
    std::size_t colon = line.find(':');
    std::size_t start = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(start, colon - start) != device) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::uint64_t value = 0;
    for (int i = 0; i < 12; i++) numbers >> value;
    return value;
  }
  throw std::runtime_error(device + ": not in /proc/self/net/dev");
}

}  // namespace

void requireOwnNamespace() {
  struct stat own {};
  struct stat first {};
  if (stat("/proc/self/ns/net", &own) != 0) {
    throw std::runtime_error(std::string("/proc/self/ns/net: ") + std::strerror(errno));
  }
  bool isHost = own.st_ino == kInitNamespace || (stat("/proc/1/ns/net", &first) == 0 && isSame(first, own));
  if (isHost) throw std::runtime_error("this is the network namespace of the host; run it with ip netns exec NAME");
  if (!isNamed(own))
    throw std::runtime_error("this network namespace has no name in /run/netns; make one with ip netns");
}

unsigned requireVeth(const std::string& device) {
  unsigned index = if_nametoindex(device.c_str());
  if (index == 0) throw std::runtime_error(device + ": no such device in this network namespace");
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!Ethtool(device).ask(&info) || std::string(info.driver) != "veth") {
    throw std::runtime_error(device + ": not a veth");
  }
  return index;
}

DeviceCounters readCounters(const std::string& device) {
  return {.liveFrames = sumStatistics(device, "_xdp_xmit"),
          .socketDrops = sendDrops(device) - sumStatistics(device, "_xdp_xmit_errors")};
}

}  // namespace floodwall::lab
