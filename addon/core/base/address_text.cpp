#include "base/address_text.h"

#include <arpa/inet.h>

#include <array>
#include <cstring>

namespace floodwall {

bool isIpv4(const Address& address) noexcept {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(address.bytes.data(), kMapped.data(), kMapped.size()) == 0;
}

std::string textOf(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool isShort = isIpv4(address);
  inet_ntop(isShort ? AF_INET : AF_INET6, address.bytes.data() + (isShort ? 12 : 0), text.data(), text.size());
  return text.data();
}

}  // namespace floodwall
