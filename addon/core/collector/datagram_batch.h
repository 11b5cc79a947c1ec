// Datagrams as recvmmsg(2) gives them, many by one call, into memory that is made once.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "base/lazy_array.h"

namespace floodwall {

class DatagramBatch {
 public:
  /// Few enough that the usual datagrams of 1,400 bytes stay in the second-level cache until they are decoded.
  static constexpr unsigned kDatagrams = 32;

  DatagramBatch();
  DatagramBatch(const DatagramBatch&) = delete;
  DatagramBatch& operator=(const DatagramBatch&) = delete;

  /// Receives waiting datagrams; 0 when none wait. Returns -1 with errno when the socket failed.
  int receive(int socket) noexcept;

  /// Valid until the next receive().
  [[nodiscard]] std::span<const std::uint8_t> bytes(unsigned i) const noexcept {
    return {memory_.data() + i * kStride, messages_[i].msg_len};
  }
  [[nodiscard]] Address source(unsigned i) const noexcept;
  /// The port is at the same place for both families.
  [[nodiscard]] std::uint16_t port(unsigned i) const noexcept { return ntohs(sources_[i].sin6_port); }
  void prefetch(unsigned i) const noexcept {
    for (std::size_t line = 0; line < 4; line++) __builtin_prefetch(memory_.data() + i * kStride + 64 * line);
  }

 private:
  /// The largest datagram fits: none is cut. Not a multiple of 4 KiB, so that datagrams do not meet in one cache set.
  static constexpr std::size_t kStride = 65'536 + 1'600;

  LazyArray<std::uint8_t> memory_{kDatagrams * kStride, Pages::huge};
  std::array<mmsghdr, kDatagrams> messages_{};
  std::array<iovec, kDatagrams> pieces_{};
  std::array<sockaddr_in6, kDatagrams> sources_{};
};

}  // namespace floodwall
