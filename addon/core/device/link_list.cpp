#include "device/link_list.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "device/netlink_dump.h"

namespace floodwall {
namespace {

bool isNative(NetlinkBytes xdp) {
  bool found = false;
  forEachAttribute(xdp, [&](std::uint16_t type, NetlinkBytes value) {
    if (type == IFLA_XDP_ATTACHED && !value.empty())
      found = value[0] == XDP_ATTACHED_DRV || value[0] == XDP_ATTACHED_MULTI;
  });
  return found;
}

void readAttribute(ListedLink& link, std::uint16_t type, NetlinkBytes value) {
  switch (type) {
    case IFLA_IFNAME:
      link.name.assign(reinterpret_cast<const char*>(value.data()),
                       strnlen(reinterpret_cast<const char*>(value.data()), value.size()));
      break;
    case IFLA_ADDRESS:
      if (value.size() == link.mac.size()) std::copy(value.begin(), value.end(), link.mac.begin());
      break;
    case IFLA_MASTER:
      link.hasMaster = true;
      break;
    case IFLA_XDP:
      link.hasNativeProgram = isNative(value);
      break;
    default:
      break;
  }
}

}  // namespace

std::optional<std::vector<ListedLink>> listLinks() {
  struct {
    nlmsghdr header;
    ifinfomsg body;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = RTM_GETLINK,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 0,
                    .nlmsg_pid = 0};
  std::vector<ListedLink> links;
  const bool isWhole = askNetlink(
      NETLINK_ROUTE, {reinterpret_cast<const std::uint8_t*>(&request), sizeof request}, [&](NetlinkBytes message) {
        const auto body = numberOf<ifinfomsg>(message);
        if (!body) return;
        ListedLink link{.name = {}, .index = static_cast<unsigned>(body->ifi_index)};
        link.isUp = (body->ifi_flags & IFF_UP) != 0;
        link.isEthernet = body->ifi_type == ARPHRD_ETHER;
        forEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(ifinfomsg))),
                         [&](std::uint16_t type, NetlinkBytes value) { readAttribute(link, type, value); });
        links.push_back(std::move(link));
      });
  if (!isWhole) return std::nullopt;
  return links;
}

}  // namespace floodwall
