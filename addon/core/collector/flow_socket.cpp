#include "collector/flow_socket.h"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>

#include "base/address_text.h"
#include "base/source_error.h"

namespace floodwall {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socketAddressOf(const FlowAddress& at) {
  SocketAddress address;
  if (isIpv4Mapped(at.address)) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(at.port);
    std::memcpy(&ipv4.sin_addr, at.address.bytes.data() + 12, sizeof ipv4.sin_addr);
    std::memcpy(&address.storage, &ipv4, address.length = sizeof ipv4);
    return address;
  }
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(at.port);
  std::memcpy(&ipv6.sin6_addr, at.address.bytes.data(), sizeof ipv6.sin6_addr);
  std::memcpy(&address.storage, &ipv6, address.length = sizeof ipv6);
  return address;
}

[[noreturn]] void throwSocketError(const FlowAddress& at, int error) {
  const std::string what = "cannot receive flows at UDP " + at.text() + ": ";
  switch (error) {
    case EADDRINUSE:
      throw SourceError(what + "another process has the port, see `ss -ulpn sport = " + std::to_string(at.port) + "`");
    case EADDRNOTAVAIL:
      throw SourceError(what + "this machine does not have the address, see `ip address`");
    case EAFNOSUPPORT:
      throw SourceError(what + "this machine has no IPv6: listen at 0.0.0.0");
    case EACCES:
      throw SourceError(what + "ports below 1024 need CAP_NET_BIND_SERVICE");
    default:
      throw SourceError(what + strerror(error));
  }
}

void setOption(const UniqueFd& socket, const FlowAddress& at, int level, int option, int value) {
  if (setsockopt(socket.get(), level, option, &value, sizeof value) != 0) throwSocketError(at, errno);
}

UniqueFd boundSocket(const FlowAddress& at, bool isShared, std::uint32_t receiveBuffer) {
  const SocketAddress address = socketAddressOf(at);
  UniqueFd fd(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) throwSocketError(at, errno);
  if (address.storage.ss_family == AF_INET6) setOption(fd, at, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (isShared) setOption(fd, at, SOL_SOCKET, SO_REUSEPORT, 1);
  // Before it is bound, so that no datagram meets the small buffer. The kernel doubles the requested size, since it
  // accounts for its own structures beside the datagrams. Without CAP_NET_ADMIN net.core.rmem_max is the bound.
  const int wanted = static_cast<int>(receiveBuffer);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0) {
    setOption(fd, at, SOL_SOCKET, SO_RCVBUF, wanted);
  }
  if (bind(fd.get(), address.get(), address.length) != 0) throwSocketError(at, errno);
  return fd;
}

/// Offsets of the IP header's fields; SKF_NET_OFF finds the header before the datagram.
constexpr std::uint32_t kNet = static_cast<std::uint32_t>(SKF_NET_OFF);
constexpr std::uint32_t kIpv4Source = kNet + 12, kIpv6Source = kNet + 8;

/// Index of the socket in the order in which they were bound. With a secret, so that no sender can choose addresses
/// that all fall to one thread.
std::vector<sock_filter> spreadProgram(std::uint32_t sockets) {
  std::random_device random;
  const std::uint32_t secret = random(), odd = random() | 1U;
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kNet),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIpv4Source),
      BPF_JUMP(BPF_JMP | BPF_JA, 10, 0, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIpv6Source),
  };
  for (const std::uint32_t word : {4U, 8U, 12U}) {
    program.push_back(BPF_STMT(BPF_MISC | BPF_TAX, 0));
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kIpv6Source + word));
    program.push_back(BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0));
  }
  program.push_back(BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, secret));
  program.push_back(BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, odd));
  program.push_back(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16));
  program.push_back(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, sockets));
  program.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
  return program;
}

void spreadByAddress(const std::vector<UniqueFd>& sockets, const FlowAddress& at) {
  std::vector<sock_filter> program = spreadProgram(static_cast<std::uint32_t>(sockets.size()));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (setsockopt(sockets[0].get(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter) == 0) return;
  throw SourceError("cannot spread the exporters of UDP " + at.text() + " over threads: " + strerror(errno) +
                    "; set its threads to 1");
}

}  // namespace

std::string FlowAddress::text() const {
  const std::string host = textOf(address);
  return (isIpv4Mapped(address) ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::vector<UniqueFd> openFlowSockets(const FlowAddress& address, std::uint32_t sockets, std::uint32_t receiveBuffer) {
  // A shared port is had even while another process of the same user shares it, which would then take a part of the
  // datagrams: ask for it alone first.
  std::vector<UniqueFd> opened;
  opened.push_back(boundSocket(address, false, receiveBuffer));
  if (sockets == 1) return opened;
  opened.clear();
  for (std::uint32_t i = 0; i < sockets; i++) opened.push_back(boundSocket(address, true, receiveBuffer));
  spreadByAddress(opened, address);
  return opened;
}

SocketBuffer bufferOf(const UniqueFd& socket) noexcept {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t length = sizeof memory;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) return {};
  return {
      .granted = memory[SK_MEMINFO_RCVBUF], .used = memory[SK_MEMINFO_RMEM_ALLOC], .dropped = memory[SK_MEMINFO_DROPS]};
}

}  // namespace floodwall
