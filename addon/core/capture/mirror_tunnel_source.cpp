#include "capture/mirror_tunnel_source.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>

#include "capture/capture_thread.h"
#include "capture/frame_batch.h"
#include "capture/worker_priority.h"

namespace floodwall {
namespace {

constexpr std::size_t kIpv6Header = 40;
/// The kernel reports drops with the packet that follows them: late, if no packet follows a burst for a while.
constexpr int kWaitMs = 200;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

SocketAddress socketAddress(const Address& address) {
  SocketAddress made;
  if (isIpv4Mapped(address)) {
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&made.storage);
    ipv4->sin_family = AF_INET;
    std::memcpy(&ipv4->sin_addr, &address.bytes[12], 4);
    made.length = sizeof *ipv4;
  } else {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&made.storage);
    ipv6->sin6_family = AF_INET6;
    std::memcpy(&ipv6->sin6_addr, address.bytes.data(), 16);
    made.length = sizeof *ipv6;
  }
  return made;
}

Address addressOf(const sockaddr_storage& storage) {
  Address address;
  if (storage.ss_family == AF_INET) {
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(&address.bytes[12], &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, 4);
  } else {
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, 16);
  }
  return address;
}

/// Whether a socket can be bound to it: 0, or errno.
int bindError(int fd, const Address& address) {
  const SocketAddress local = socketAddress(address);
  return bind(fd, reinterpret_cast<const sockaddr*>(&local.storage), local.length) == 0 ? 0 : errno;
}

UniqueFd openSocket(const MirrorTunnelOptions& options) {
  const std::string what = "mirrored frames to " + options.name;
  const int family = isIpv4Mapped(options.address) ? AF_INET : AF_INET6;
  UniqueFd fd(socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_GRE));
  if (!fd && errno == EPERM) {
    throw SourceError("no permission to receive " + what + ": run as root, or give the service CAP_NET_RAW");
  }
  if (!fd) throw SourceError("cannot receive " + what + ": " + strerror(errno));
  const int bytes = static_cast<int>(options.bufferBytes), on = 1;
  // Beyond net.core.rmem_max only with CAP_NET_ADMIN.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  const int error = bindError(fd.get(), options.address);
  if (error == EADDRNOTAVAIL) {
    throw SourceError("cannot receive " + what +
                      ": this machine does not have the address: correct capture.tunnels[].address, or add it with `ip "
                      "address add`");
  }
  if (error != 0) throw SourceError("cannot receive " + what + ": " + strerror(error));
  return fd;
}

class MirrorTunnelSession final : public CaptureSession {
 public:
  MirrorTunnelSession(const MirrorTunnelOptions& options, QueueShards& shards)
      : options_(options),
        from_(options_.from),
        fd_(openSocket(options_)),
        shard_(shards.forQueue(options_.name, -1)),
        // Behind room for an IPv6 header, which raw sockets leave out.
        buffers_(std::size_t{kBatch} * kStride) {
    prepareMessages();
    worker_.emplace("mirror-tunnel", cpuFor(options_.cpus, 0), [this](int stopFd) { receiveAll(stopFd); });
  }

  [[nodiscard]] std::string mode() const override { return "GRE socket"; }
  [[nodiscard]] SessionHealth health() override;
  [[nodiscard]] std::vector<QueueStats> drops() const override {
    QueueStats stats{.interface = options_.name, .queue = -1, .shard = {}};
    stats.droppedKernel = dropped_.load(std::memory_order_relaxed);
    stats.refused = refused_.load(std::memory_order_relaxed);
    return {stats};
  }

 private:
  static constexpr std::size_t kStride = kIpv6Header + kKeptBytes;
  struct Message {
    iovec data;
    sockaddr_storage from;
    alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(std::uint32_t))> control;
  };

  void prepareMessages();
  void receiveAll(int stopFd);
  [[nodiscard]] std::size_t receiveBatch();
  [[nodiscard]] Frame frameOf(std::size_t i, const Address& from);
  void takeDrops(msghdr& header);

  const MirrorTunnelOptions options_;
  PrefixTable from_;
  UniqueFd fd_;
  Shard& shard_;
  std::vector<std::uint8_t> buffers_;
  std::array<Message, kBatch> messages_{};
  std::array<mmsghdr, kBatch> headers_{};
  std::array<Frame, kBatch> frames_{};
  std::uint32_t lastDrops_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::optional<CaptureThread> worker_;
};

void MirrorTunnelSession::prepareMessages() {
  for (std::size_t i = 0; i < kBatch; i++) {
    Message& message = messages_[i];
    message.data = {&buffers_[i * kStride + kIpv6Header], kKeptBytes};
    headers_[i].msg_hdr.msg_iov = &message.data;
    headers_[i].msg_hdr.msg_iovlen = 1;
    headers_[i].msg_hdr.msg_name = &message.from;
    headers_[i].msg_hdr.msg_control = message.control.data();
  }
}

void MirrorTunnelSession::receiveAll(int stopFd) {
  raisePriority();
  while (waitReadable(fd_.get(), stopFd, kWaitMs) == Wakeup::data) {
    while (receiveBatch() == kBatch) {
    }
  }
}

/// How many packets were there.
std::size_t MirrorTunnelSession::receiveBatch() {
  for (std::size_t i = 0; i < kBatch; i++) {
    headers_[i].msg_hdr.msg_namelen = sizeof messages_[i].from;
    headers_[i].msg_hdr.msg_controllen = messages_[i].control.size();
  }
  // With MSG_TRUNC the length is that of the packet, of which only the headers are kept.
  const int received = recvmmsg(fd_.get(), headers_.data(), kBatch, MSG_DONTWAIT | MSG_TRUNC, nullptr);
  if (received <= 0) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(received); i++) {
    takeDrops(headers_[i].msg_hdr);
    const Address from = addressOf(messages_[i].from);
    if (from_.match(from) == PrefixTable::kNone) {
      refused_.fetch_add(1, std::memory_order_relaxed);
    } else {
      frames_[count++] = frameOf(i, from);
    }
  }
  if (count > 0) {
    shard_.leaveIdle();
    shard_.countFrames(std::span(frames_).first(count), Link::rawIp);
    shard_.enterIdle();
  }
  return static_cast<std::size_t>(received);
}

Frame MirrorTunnelSession::frameOf(std::size_t i, const Address& from) {
  std::uint8_t* data = &buffers_[i * kStride + kIpv6Header];
  const std::uint32_t length = headers_[i].msg_len;
  const std::uint32_t captured = std::min(length, kKeptBytes);
  if (isIpv4Mapped(options_.address)) return {data, captured, length};
  std::uint8_t* header = data - kIpv6Header;
  std::memset(header, 0, 8);
  header[0] = 0x60;
  header[4] = static_cast<std::uint8_t>(length >> 8);
  header[5] = static_cast<std::uint8_t>(length);
  header[6] = IPPROTO_GRE;
  std::memcpy(header + 8, from.bytes.data(), 16);
  std::memcpy(header + 24, options_.address.bytes.data(), 16);
  constexpr auto kHeader = static_cast<std::uint32_t>(kIpv6Header);
  return {header, captured + kHeader, length + kHeader};
}

/// The socket's own count of 32 bits (SO_RXQ_OVFL), which wraps.
void MirrorTunnelSession::takeDrops(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_RXQ_OVFL) continue;
    std::uint32_t drops = 0;
    std::memcpy(&drops, CMSG_DATA(part), sizeof drops);
    dropped_.fetch_add(drops - lastDrops_, std::memory_order_relaxed);
    lastDrops_ = drops;
  }
}

SessionHealth MirrorTunnelSession::health() {
  using Kind = SessionHealth::Kind;
  const UniqueFd probe(socket(isIpv4Mapped(options_.address) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || bindError(probe.get(), options_.address) != EADDRNOTAVAIL) return {};
  return {Kind::impaired, "this machine has lost the address " + options_.name +
                              " of capture.tunnels: add it again, capture goes on by itself"};
}

}  // namespace

std::unique_ptr<CaptureSource> openMirrorTunnel(MirrorTunnelOptions options, AddShard addShard) {
  return std::make_unique<SupervisedSource>(std::move(addShard), [options = std::move(options)](QueueShards& shards) {
    return std::make_unique<MirrorTunnelSession>(options, shards);
  });
}

}  // namespace floodwall
