#include "device/netdev_family.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "device/netlink_dump.h"

namespace floodwall {
namespace {

// From linux/netdev.h, which is younger than the kernel headers of Debian 12.
constexpr const char* kFamilyName = "netdev";
constexpr std::uint8_t kDeviceGet = 1;
constexpr std::uint16_t kInterfaceIndex = 1, kXdpFeaturesBits = 3;

constexpr std::size_t kAnswerBytes = 8192;
constexpr std::size_t kHeaderBytes = NLMSG_HDRLEN + GENL_HDRLEN;
constexpr std::size_t kAttributeHeader = sizeof(nlattr);

using Bytes = std::vector<std::uint8_t>;

struct Request {
  std::uint16_t family;
  std::uint16_t flags = NLM_F_REQUEST;
  std::uint8_t command;
  std::uint16_t attribute;
  std::span<const std::uint8_t> value;
};

Bytes encoded(const Request& request) {
  const std::size_t length = kHeaderBytes + (request.value.empty() ? 0 : kAttributeHeader + request.value.size());
  Bytes bytes(NLMSG_ALIGN(length));
  const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(length),
                        .nlmsg_type = request.family,
                        .nlmsg_flags = request.flags,
                        .nlmsg_seq = 0,
                        .nlmsg_pid = 0};
  const genlmsghdr generic{.cmd = request.command, .version = 1, .reserved = 0};
  const nlattr attribute{.nla_len = static_cast<std::uint16_t>(kAttributeHeader + request.value.size()),
                         .nla_type = request.attribute};
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &generic, sizeof generic);
  if (request.value.empty()) return bytes;
  std::memcpy(bytes.data() + kHeaderBytes, &attribute, sizeof attribute);
  std::copy(request.value.begin(), request.value.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + kAttributeHeader));
  return bytes;
}

/// The attribute of an answer as a number of the machine's order.
template <typename Number>
std::optional<Number> numberIn(std::span<const std::uint8_t> answer, std::uint16_t wanted) {
  nlmsghdr header{};
  if (answer.size() < kHeaderBytes) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_len > answer.size()) return std::nullopt;
  for (std::size_t at = kHeaderBytes; at + kAttributeHeader <= header.nlmsg_len;) {
    nlattr attribute{};
    std::memcpy(&attribute, answer.data() + at, sizeof attribute);
    if (attribute.nla_len < kAttributeHeader || at + attribute.nla_len > header.nlmsg_len) return std::nullopt;
    if ((attribute.nla_type & NLA_TYPE_MASK) == wanted && attribute.nla_len >= kAttributeHeader + sizeof(Number)) {
      Number number{};
      std::memcpy(&number, answer.data() + at + kAttributeHeader, sizeof number);
      return number;
    }
    at += (attribute.nla_len + std::size_t{NLA_ALIGNTO} - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
  }
  return std::nullopt;
}

class GenericNetlink {
 public:
  GenericNetlink() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)) {
    // The kernel answers within the call that sends; if it does not, the wait is short.
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    if (fd_) setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  [[nodiscard]] Bytes ask(const Request& request) const {
    const Bytes bytes = encoded(request);
    Bytes answer(kAnswerBytes);
    if (!fd_ || send(fd_.get(), bytes.data(), bytes.size(), 0) < 0) return {};
    const ssize_t length = recv(fd_.get(), answer.data(), answer.size(), 0);
    answer.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return answer;
  }

 private:
  UniqueFd fd_;
};

template <typename T>
std::span<const std::uint8_t> bytesOf(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

std::optional<std::uint16_t> familyId(const GenericNetlink& netlink) {
  const std::span name(reinterpret_cast<const std::uint8_t*>(kFamilyName), std::strlen(kFamilyName) + 1);
  return numberIn<std::uint16_t>(
      netlink.ask(
          {.family = GENL_ID_CTRL, .command = CTRL_CMD_GETFAMILY, .attribute = CTRL_ATTR_FAMILY_NAME, .value = name}),
      CTRL_ATTR_FAMILY_ID);
}

}  // namespace

std::optional<std::uint64_t> xdpFeatures(unsigned interfaceIndex) {
  const GenericNetlink netlink;
  const auto family = familyId(netlink);
  if (!family) return std::nullopt;
  const std::uint32_t index = interfaceIndex;
  return numberIn<std::uint64_t>(
      netlink.ask({.family = *family, .command = kDeviceGet, .attribute = kInterfaceIndex, .value = bytesOf(index)}),
      kXdpFeaturesBits);
}

std::optional<std::unordered_map<unsigned, std::uint64_t>> allXdpFeatures() {
  const auto family = familyId(GenericNetlink());
  if (!family) return std::nullopt;
  std::unordered_map<unsigned, std::uint64_t> all;
  const Bytes request = encoded(
      {.family = *family, .flags = NLM_F_REQUEST | NLM_F_DUMP, .command = kDeviceGet, .attribute = 0, .value = {}});
  const bool isWhole = askNetlink(NETLINK_GENERIC, request, [&](NetlinkBytes message) {
    if (message.size() < GENL_HDRLEN) return;
    std::optional<std::uint32_t> index;
    std::optional<std::uint64_t> features;
    forEachAttribute(message.subspan(GENL_HDRLEN), [&](std::uint16_t type, NetlinkBytes value) {
      if (type == kInterfaceIndex) index = numberOf<std::uint32_t>(value);
      if (type == kXdpFeaturesBits) features = numberOf<std::uint64_t>(value);
    });
    if (index && features) all[*index] = *features;
  });
  if (!isWhole) return std::nullopt;
  return all;
}

}  // namespace floodwall
