#include "collector/datagram_batch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace floodwall {

DatagramBatch::DatagramBatch() {
  for (unsigned i = 0; i < kDatagrams; i++) {
    pieces_[i] = {memory_.data() + i * kStride, 65'536};
    messages_[i].msg_hdr = {.msg_name = &sources_[i],
                            .msg_namelen = sizeof sources_[i],
                            .msg_iov = &pieces_[i],
                            .msg_iovlen = 1,
                            .msg_control = nullptr,
                            .msg_controllen = 0,
                            .msg_flags = 0};
  }
}

int DatagramBatch::receive(int socket) noexcept {
  // The kernel writes the length of each address that it gives.
  for (mmsghdr& message : messages_) message.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
  const int received = recvmmsg(socket, messages_.data(), kDatagrams, MSG_DONTWAIT, nullptr);
  if (received >= 0) return received;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

Address DatagramBatch::source(unsigned i) const noexcept {
  Address address;
  if (sources_[i].sin6_family == AF_INET6) {
    std::memcpy(address.bytes.data(), &sources_[i].sin6_addr, address.bytes.size());
    return address;
  }
  sockaddr_in ipv4;
  std::memcpy(&ipv4, &sources_[i], sizeof ipv4);
  address.bytes[10] = address.bytes[11] = 0xff;
  std::memcpy(address.bytes.data() + 12, &ipv4.sin_addr, sizeof ipv4.sin_addr);
  return address;
}

}  // namespace floodwall
