#include "device/netlink_dump.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <vector>

#include "base/unique_fd.h"

namespace floodwall {
namespace {

/// The kernel's messages of a list have at most 32 KiB.
constexpr std::size_t kDumpBytes = 65'536;

enum class Progress : std::uint8_t { more, done, failed };

Progress readAnswer(NetlinkBytes answer, const std::function<void(NetlinkBytes)>& see) {
  Progress progress = Progress::more;
  const bool isWhole = forEachMessage(answer, [&](const nlmsghdr& header, NetlinkBytes payload) {
    const bool isAnswer = header.nlmsg_type == NLMSG_ERROR;
    // 0: it is done.
    if (isAnswer) progress = numberOf<std::int32_t>(payload) == 0 ? Progress::done : Progress::failed;
    // The list changed while it was read.
    if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0) progress = Progress::failed;
    if (progress == Progress::more && header.nlmsg_type == NLMSG_DONE) progress = Progress::done;
    if (progress == Progress::more) see(payload);
    return progress == Progress::more;
  });
  return isWhole ? progress : Progress::failed;
}

}  // namespace

bool askNetlink(int family, NetlinkBytes request, const std::function<void(NetlinkBytes)>& see) {
  const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family));
  // The kernel answers within the call that asks; if it does not, the wait is short.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) return false;
  if (send(fd.get(), request.data(), request.size(), 0) < 0) return false;
  std::vector<std::uint8_t> answer(kDumpBytes);
  for (Progress progress = Progress::more;;) {
    const ssize_t length = recv(fd.get(), answer.data(), answer.size(), 0);
    if (length <= 0) return false;
    progress = readAnswer(NetlinkBytes(answer).first(static_cast<std::size_t>(length)), see);
    if (progress != Progress::more) return progress == Progress::done;
  }
}

}  // namespace floodwall
