#include "device/route_choice.h"

#include <linux/fib_rules.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <vector>

#include "device/netlink_dump.h"

namespace floodwall {
namespace {

/// Calls after which all is listed again, once something else than the destination decides, or may: to list a table of
/// a million routes takes a second.
constexpr unsigned kListEvery = 30;
/// Room for changes between two calls; the kernel says when they do not fit.
constexpr int kChangesBytes = 1 << 20;
constexpr std::size_t kReportBytes = 65'536;

bool isIp(std::uint8_t family) { return family == AF_INET || family == AF_INET6; }

/// It asks for other things than destination and interface, or its attributes say something unknown.
bool doesRuleAskMore(NetlinkBytes message) {
  const auto rule = numberOf<fib_rule_hdr>(message);
  if (!rule) return true;
  if (!isIp(rule->family)) return false;
  bool asksMore = rule->src_len != 0 || rule->tos != 0;
  forEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(fib_rule_hdr))), [&](std::uint16_t type, NetlinkBytes) {
    switch (type) {
      case FRA_DST:
      case FRA_IIFNAME:
      case FRA_L3MDEV:
      case FRA_GOTO:
      case FRA_PRIORITY:
      case FRA_TABLE:
      case FRA_SUPPRESS_PREFIXLEN:
      case FRA_SUPPRESS_IFGROUP:
      case FRA_FLOW:
      case FRA_PROTOCOL:
      case FRA_PAD:
        break;
      default:
        asksMore = true;
    }
  });
  return asksMore;
}

/// Several next hops, a source or a type of service.
bool doesRouteAskMore(NetlinkBytes message) {
  const auto route = numberOf<rtmsg>(message);
  if (!route) return true;
  if (!isIp(route->rtm_family)) return false;
  bool asksMore = route->rtm_src_len != 0 || route->rtm_tos != 0;
  forEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(rtmsg))), [&](std::uint16_t type, NetlinkBytes) {
    if (type == RTA_MULTIPATH) asksMore = true;
  });
  return asksMore;
}

/// A group of several, whether a route has it or not.
bool isSharedNextHop(NetlinkBytes message) {
  bool isShared = message.size() < sizeof(nhmsg);
  if (isShared) return true;
  forEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(nhmsg))), [&](std::uint16_t type, NetlinkBytes value) {
    if (type == NHA_GROUP && value.size() > sizeof(nexthop_grp)) isShared = true;
  });
  return isShared;
}

/// No message of a list has what is looked for. `Body`: what a message begins with.
template <typename Body>
bool haveNone(std::uint16_t type, bool (*isSought)(NetlinkBytes)) {
  struct {
    nlmsghdr header;
    Body body;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = type,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 0,
                    .nlmsg_pid = 0};
  bool isFound = false;
  const bool isWhole = askNetlink(NETLINK_ROUTE, {reinterpret_cast<const std::uint8_t*>(&request), sizeof request},
                                  [&](NetlinkBytes message) { isFound = isFound || isSought(message); });
  return isWhole && !isFound;
}

/// A removed rule or route cannot make a choice depend on more.
bool doesChangeAskMore(const nlmsghdr& header, NetlinkBytes payload) {
  switch (header.nlmsg_type) {
    case RTM_NEWRULE:
      return doesRuleAskMore(payload);
    case RTM_NEWROUTE:
      return doesRouteAskMore(payload);
    case RTM_NEWNEXTHOP:
      return isSharedNextHop(payload);
    default:
      return false;
  }
}

UniqueFd listenToChanges() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  // Without the right to a larger buffer it is sooner full, which means that something may have changed.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kChangesBytes, sizeof kChangesBytes) != 0) {
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kChangesBytes, sizeof kChangesBytes);
  }
  for (const int group :
       {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP}) {
    if (setsockopt(fd.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) return {};
  }
  return fd;
}

}  // namespace

RouteChoice::RouteChoice() : changes_(listenToChanges()) {}

bool RouteChoice::doChangesAskMore() {
  std::vector<std::uint8_t> answer(kReportBytes);
  bool askMore = false;
  for (;;) {
    const ssize_t length = recv(changes_.get(), answer.data(), answer.size(), 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == ENOBUFS) {
      askMore = true;
      continue;
    }
    if (length <= 0) return askMore;
    const bool isWhole = forEachMessage(NetlinkBytes(answer).first(static_cast<std::size_t>(length)),
                                        [&](const nlmsghdr& header, NetlinkBytes payload) {
                                          askMore = askMore || doesChangeAskMore(header, payload);
                                          return true;
                                        });
    askMore = askMore || !isWhole;
  }
}

bool RouteChoice::isByDestination() {
  if (!changes_) return false;
  const bool wasByDestination = isByDestination_;
  if (doChangesAskMore()) isByDestination_ = false;
  if (isByDestination_) return true;
  if (wasByDestination) listIn_ = kListEvery;
  if (listIn_ > 0) {
    listIn_--;
    return false;
  }
  listIn_ = kListEvery;
  isByDestination_ = haveNone<fib_rule_hdr>(RTM_GETRULE, doesRuleAskMore) &&
                     haveNone<nhmsg>(RTM_GETNEXTHOP, isSharedNextHop) &&
                     haveNone<rtmsg>(RTM_GETROUTE, doesRouteAskMore);
  return isByDestination_;
}

}  // namespace floodwall
