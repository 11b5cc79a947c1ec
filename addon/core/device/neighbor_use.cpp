#include "device/neighbor_use.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "device/netlink_dump.h"

namespace floodwall {
namespace {

using Attribute = std::pair<std::uint16_t, NetlinkBytes>;

template <typename Part>
void append(std::vector<std::uint8_t>& message, const Part& part) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&part);
  message.insert(message.end(), bytes, bytes + sizeof part);
}

template <typename Body>
std::vector<std::uint8_t> messageOf(std::uint16_t type, std::uint16_t flags, const Body& body,
                                    std::initializer_list<Attribute> attributes) {
  std::vector<std::uint8_t> message(sizeof(nlmsghdr));
  append(message, body);
  for (const auto& [kind, value] : attributes) {
    message.resize((message.size() + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO);
    append(message, nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), .nla_type = kind});
    message.insert(message.end(), value.begin(), value.end());
  }
  const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(message.size()),
                        .nlmsg_type = type,
                        .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags),
                        .nlmsg_seq = 0,
                        .nlmsg_pid = 0};
  std::memcpy(message.data(), &header, sizeof header);
  return message;
}

struct NextHop {
  std::uint8_t family = 0;
  std::vector<std::uint8_t> address;
  std::uint32_t interface = 0;
};

std::uint8_t familyOf(NetlinkBytes address) { return address.size() == 4 ? AF_INET : AF_INET6; }

std::optional<NextHop> nextHopTowards(NetlinkBytes address) {
  rtmsg body{};
  body.rtm_family = familyOf(address);
  body.rtm_dst_len = static_cast<std::uint8_t>(8 * address.size());
  NextHop found{body.rtm_family, {address.begin(), address.end()}, 0};
  const auto request = messageOf(RTM_GETROUTE, 0, body, {{RTA_DST, address}});
  const bool isWhole = askNetlink(NETLINK_ROUTE, request, [&](NetlinkBytes message) {
    const auto route = numberOf<rtmsg>(message);
    if (!route || route->rtm_type != RTN_UNICAST) return;
    forEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(rtmsg))), [&](std::uint16_t type, NetlinkBytes value) {
      if (type == RTA_OIF) found.interface = numberOf<std::uint32_t>(value).value_or(0);
      if (type == RTA_GATEWAY) found.address.assign(value.begin(), value.end());
      // A gateway of the other family.
      if (type == RTA_VIA && value.size() > sizeof(rtvia)) {
        const NetlinkBytes via = value.subspan(sizeof(rtvia));
        found.family = familyOf(via);
        found.address.assign(via.begin(), via.end());
      }
    });
  });
  return isWhole && found.interface != 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

void useNeighborTowards(std::span<const std::uint8_t> address) {
  const auto hop = nextHopTowards(address);
  if (!hop) return;
  ndmsg body{};
  body.ndm_family = hop->family;
  body.ndm_ifindex = static_cast<std::int32_t>(hop->interface);
  // The kernel (since 5.16) would forget that an entry set by an operator is permanent.
  std::uint16_t state = NUD_NONE;
  const bool isKnown =
      askNetlink(NETLINK_ROUTE, messageOf(RTM_GETNEIGH, 0, body, {{NDA_DST, hop->address}}),
                 [&](NetlinkBytes message) { state = numberOf<ndmsg>(message).value_or(body).ndm_state; });
  if (isKnown && (state & (NUD_PERMANENT | NUD_NOARP)) != 0) return;
  body.ndm_flags = NTF_USE;
  // If the kernel cannot do it now, the next call requests it again.
  static_cast<void>(askNetlink(NETLINK_ROUTE, messageOf(RTM_NEWNEIGH, NLM_F_CREATE, body, {{NDA_DST, hop->address}}),
                               [](NetlinkBytes) {}));
}

}  // namespace floodwall
