#include "base/address_text.h"

#include <arpa/inet.h>

#include <array>

namespace floodwall {

std::string textOf(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool isShort = isIpv4Mapped(address);
  inet_ntop(isShort ? AF_INET : AF_INET6, address.bytes.data() + (isShort ? 12 : 0), text.data(), text.size());
  return text.data();
}

}  // namespace floodwall
