// Asks the kernel for a list, or for something to be done, over netlink. Knows messages, not what they say.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

namespace floodwall {

using NetlinkBytes = std::span<const std::uint8_t>;

/// Sends a request with NLM_F_DUMP or NLM_F_ACK and hands over the payload of each message of the answer. False: it is
/// not whole.
[[nodiscard]] bool askNetlink(int family, NetlinkBytes request, const std::function<void(NetlinkBytes)>& see);

/// Calls see(header, payload) for each message, and ends early where it returns false. False: one is cut off.
template <typename See>
bool forEachMessage(NetlinkBytes bytes, See&& see) {
  for (std::size_t at = 0; at + sizeof(nlmsghdr) <= bytes.size();) {
    nlmsghdr header{};
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > bytes.size()) return false;
    if (!see(header, bytes.subspan(at + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN))) return true;
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  return true;
}

/// Calls see(type, value) for each attribute.
template <typename See>
void forEachAttribute(NetlinkBytes bytes, See&& see) {
  constexpr std::size_t kHeader = sizeof(nlattr);
  for (std::size_t at = 0; at + kHeader <= bytes.size();) {
    nlattr attribute{};
    std::memcpy(&attribute, bytes.data() + at, sizeof attribute);
    if (attribute.nla_len < kHeader || at + attribute.nla_len > bytes.size()) return;
    see(static_cast<std::uint16_t>(attribute.nla_type & NLA_TYPE_MASK),
        bytes.subspan(at + kHeader, attribute.nla_len - kHeader));
    at += (attribute.nla_len + std::size_t{NLA_ALIGNTO} - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
  }
}

/// Absent where the attribute is shorter.
template <typename Number>
std::optional<Number> numberOf(NetlinkBytes value) {
  Number number{};
  if (value.size() < sizeof number) return std::nullopt;
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

}  // namespace floodwall
