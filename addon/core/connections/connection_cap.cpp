#include "connections/connection_cap.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <system_error>
#include <vector>

namespace floodwall {
namespace {

/// An IPv6 /64; an IPv4 address in mapped form, whose first 64 bits are those of all others, as its last 64 bits.
using Peer = std::array<std::uint8_t, 8>;

struct Connection {
  int fd = -1;
  Peer peer{};
  bool isLoopback = false;
  /// Place among the connections of its peer; the first is kept the longest.
  std::size_t rank = 0;
};

/// Held from the first call, so that it also works when no descriptor is left.
DIR* descriptors() {
  static DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) throw std::system_error(errno, std::generic_category(), "cannot list open descriptors");
  rewinddir(directory);
  return directory;
}

in6_addr mapped(const sockaddr_storage& address) {
  in6_addr made{};
  if (address.ss_family == AF_INET6) {
    std::memcpy(&made, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, sizeof made);
    return made;
  }
  made.s6_addr[10] = made.s6_addr[11] = 0xff;
  std::memcpy(&made.s6_addr[12], &reinterpret_cast<const sockaddr_in&>(address).sin_addr, sizeof(in_addr));
  return made;
}

std::uint16_t portOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

/// Whether `fd` is an established connection of the listener; the listener itself has no peer.
bool read(int fd, std::uint16_t port, Connection& connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || portOf(address) != port) return false;
  length = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  const in6_addr peer = mapped(address);
  const bool isMapped = IN6_IS_ADDR_V4MAPPED(&peer);
  connection.fd = fd;
  connection.isLoopback = isMapped ? peer.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&peer);
  std::memcpy(connection.peer.data(), &peer.s6_addr[isMapped ? 8 : 0], connection.peer.size());
  return true;
}

std::vector<Connection> connectionsOf(std::uint16_t port) {
  std::vector<Connection> found;
  DIR* const directory = descriptors();
  while (const dirent* entry = readdir(directory)) {
    int fd = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr != end) continue;
    if (Connection connection; read(fd, port, connection)) found.push_back(connection);
  }
  return found;
}

/// Higher is worth less: the milliseconds since it sent something, then those that sent nothing, by the milliseconds
/// since they were made. A request of a new connection may be on its way.
std::uint64_t silence(int fd) {
  constexpr std::uint64_t sentNothing = 1ULL << 32;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return UINT64_MAX;
  // The kernel begins with the time of the connection (tcp_create_openreq_child).
  return info.tcpi_last_data_recv + (info.tcpi_bytes_received == 0 ? sentNothing : 0);
}

/// Ranks the connections of one peer. Those that are equally silent stay in the order of their descriptors.
void rank(std::vector<Connection*>& ofPeer) {
  std::vector<std::pair<std::uint64_t, Connection*>> order;
  order.reserve(ofPeer.size());
  for (Connection* connection : ofPeer) order.emplace_back(silence(connection->fd), connection);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < order.size(); i++) order[i].second->rank = i;
}

void shutDown(const Connection& connection) {
  // Reset rather than closed in order: the peer may never answer.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  shutdown(connection.fd, SHUT_RDWR);
}

std::uint32_t most(std::uint32_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, limit.rlim_cur / 2));
}

}  // namespace

ConnectionCount limitConnections(const ConnectionCap& cap) {
  std::vector<Connection> connections = connectionsOf(cap.port);
  ConnectionCount count{.open = static_cast<std::uint32_t>(connections.size())};
  std::map<Peer, std::vector<Connection*>> byPeer;
  for (Connection& connection : connections) byPeer[connection.peer].push_back(&connection);
  const std::uint32_t total = most(cap.total);
  const bool isOverTotal = count.open > total;
  std::vector<const Connection*> kept;
  for (auto& [peer, ofPeer] : byPeer) {
    const bool isOver = ofPeer.size() > cap.perAddress && !ofPeer.front()->isLoopback;
    if (!isOver && !isOverTotal) continue;
    rank(ofPeer);
    for (const Connection* connection : ofPeer) {
      if (!isOver || connection->rank < cap.perAddress) {
        kept.push_back(connection);
        continue;
      }
      shutDown(*connection);
      count.closedOfAddress++;
    }
  }
  count.open -= count.closedOfAddress;
  if (count.open <= total) return count;
  std::sort(kept.begin(), kept.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
  for (std::size_t i = total; i < kept.size(); i++) shutDown(*kept[i]);
  count.closedOfTotal = count.open - total;
  count.open = total;
  return count;
}

}  // namespace floodwall
