// An address as people read it.
#pragma once

#include <string>

#include "base/address.h"

namespace floodwall {

/// "192.0.2.1" for a mapped IPv4 address, else as RFC 5952 has it.
[[nodiscard]] std::string textOf(const Address& address);

}  // namespace floodwall
