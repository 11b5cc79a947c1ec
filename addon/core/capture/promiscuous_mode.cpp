#include "capture/promiscuous_mode.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/source_error.h"
#include "program/xdp_attach.h"

namespace floodwall {

UniqueFd wantPromiscuousMode(const NetworkDevice& device) {
  // Bound to no protocol: the socket itself receives nothing.
  UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(device.index);
  request.mr_type = PACKET_MR_PROMISC;
  if (fd && setsockopt(fd.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) == 0) return fd;
  const int error = errno;
  const std::string what = "promiscuous mode on interface " + device.name;
  if (error == EPERM || error == EACCES) throw SourceError("no permission for " + what + ": " + kPermissionRemedy);
  throw SourceError("cannot switch on " + what + ": " + strerror(error));
}

}  // namespace floodwall
