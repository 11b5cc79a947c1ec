// The UDP sockets of a flow receiver: one for each thread on the same port, and all datagrams of one exporter to one of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/unique_fd.h"

namespace floodwall {

struct FlowAddress {
  /// `::` takes both families; a mapped IPv4 address is an IPv4 socket.
  Address address;
  std::uint16_t port = 0;

  /// "192.0.2.1:2055", "[::]:2055"
  [[nodiscard]] std::string text() const;
};

struct SocketBuffer {
  /// Bytes of datagrams that the kernel keeps, as it accounts for them.
  std::uint32_t granted = 0;
  std::uint32_t used = 0;
  /// Datagrams that found it full, or whose check sum was wrong; 32 bits that wrap.
  std::uint32_t dropped = 0;
};

/// Throws SourceError that names port, cause and remedy. `receiveBuffer` is what each should keep, in bytes; what was
/// granted may be less.
///
/// The kernel would spread datagrams by both addresses and both ports: an exporter that sends from several ports, or
/// after a restart from another, would have its templates in one thread and its data in another. A program of four or
/// ten instructions spreads them by the source address alone, so that every exporter's state has one owner and no lock.
[[nodiscard]] std::vector<UniqueFd> openFlowSockets(const FlowAddress& address, std::uint32_t sockets,
                                                    std::uint32_t receiveBuffer);

[[nodiscard]] SocketBuffer bufferOf(const UniqueFd& socket) noexcept;

}  // namespace floodwall
