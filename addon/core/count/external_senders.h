// Senders of frames on a link that lead to other networks: the routers of transits, peers and exchanges.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "parse/frame.h"

namespace floodwall {

inline constexpr std::uint32_t kExternalSendersMax = 16;
using MacAddress = std::array<std::uint8_t, 6>;

struct ExternalSenders {
  /// All are, whatever they are named; else those below, at most kExternalSendersMax.
  bool areAll = false;
  std::vector<MacAddress> macs;

  /// By the source of the Ethernet header, where the frame has one.
  [[nodiscard]] bool include(const Frame& frame, Link link) const noexcept {
    if (areAll) return true;
    constexpr std::uint32_t kSourceAt = 6;
    if (macs.empty() || link != Link::ethernet || frame.captured < kSourceAt + sizeof(MacAddress)) return false;
    return std::any_of(macs.begin(), macs.end(), [&](const MacAddress& mac) {
      return std::memcmp(mac.data(), frame.data + kSourceAt, mac.size()) == 0;
    });
  }
};

}  // namespace floodwall
