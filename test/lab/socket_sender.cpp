// Sends the plan through a packet socket, asleep between the packets.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "device.h"
#include "traffic_sender.h"

namespace floodwall::lab {

namespace {

constexpr unsigned kBurst = 64;
constexpr std::uint64_t kBacklogMaxNs = 100'000'000;
/// Packets that are due within this time go out together: waking for each would cost more than sending it.
constexpr std::uint64_t kWakeUpNs = 500'000;

class PacketSocket {
 public:
  explicit PacketSocket(const SendOrder& order) : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(order.deviceIndex);
    int yes = 1;
    if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        setsockopt(socket_, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) != 0) {
      int error = errno;
      if (socket_ >= 0) close(socket_);
      throw std::runtime_error(order.device + ": packet socket: " + std::strerror(error));
    }
  }
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;
  ~PacketSocket() { close(socket_); }

  /// Returns how many of the messages were taken.
  [[nodiscard]] unsigned send(mmsghdr* messages, unsigned count) const {
    int taken = sendmmsg(socket_, messages, count, 0);
    if (taken >= 0) return static_cast<unsigned>(taken);
    if (errno == ENOBUFS || errno == EAGAIN || errno == EINTR) return 0;
    throw std::runtime_error(std::string("sendmmsg: ") + std::strerror(errno));
  }

 private:
  int socket_;
};

/// The next frames of the plan, written into buffers of its own.
class Burst {
 public:
  explicit Burst(const traffic_plan& plan) : plan_(plan), frames_(kBurst) {
    for (unsigned i = 0; i < kBurst; i++) {
      pieces_[i].iov_base = frames_[i].data();
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }

  void fill(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
      write(i, plan_.templates[cursor_.template_index]);
      traffic_advance(&cursor_, &plan_);
    }
  }
  [[nodiscard]] mmsghdr* messages() { return messages_.data(); }
  [[nodiscard]] std::uint64_t bytes(unsigned index) const { return pieces_[index].iov_len; }

 private:
  void write(unsigned index, const traffic_template& from) {
    std::uint8_t* frame = frames_[index].data();
    pieces_[index].iov_len = from.length;
    std::memcpy(frame, from.header, std::min<std::size_t>(TRAFFIC_HEADER_BYTES, from.length));
    std::uint32_t source = plan_.source_base + cursor_.source;
    std::uint32_t destination = plan_.destination_base + cursor_.destination;
    std::uint32_t port = from.port_offset != 0 ? plan_.port_base + cursor_.port : 0;
    put32(frame + from.source_offset, source);
    put32(frame + from.destination_offset, destination);
    if (from.port_offset != 0) put16(frame + from.port_offset, static_cast<std::uint16_t>(port));
    if (from.ip_check_offset != 0) {
      put16(frame + from.ip_check_offset, traffic_check_sum(from.ip_sum, source, destination, 0));
    }
    if (from.l4_check_offset != 0) {
      put16(frame + from.l4_check_offset, traffic_check_sum(from.l4_sum, source, destination, port));
    }
  }
  static void put16(std::uint8_t* to, std::uint16_t value) {
    std::uint16_t bigEndian = htons(value);
    std::memcpy(to, &bigEndian, 2);
  }
  static void put32(std::uint8_t* to, std::uint32_t value) {
    std::uint32_t bigEndian = htonl(value);
    std::memcpy(to, &bigEndian, 4);
  }

  const traffic_plan& plan_;
  traffic_cursor cursor_{};
  std::vector<std::array<std::uint8_t, 1514>> frames_;
  std::array<iovec, kBurst> pieces_{};
  std::array<mmsghdr, kBurst> messages_{};
};

void sleepUntil(std::uint64_t timeNs) {
  timespec time{static_cast<time_t>(timeNs / 1'000'000'000), static_cast<long>(timeNs % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

/// Packets that should have gone out by now. A sender that was held up catches up on no more than the backlog.
class Schedule {
 public:
  Schedule(double packetsPerSecond, std::uint64_t startNs) : perSecond_(packetsPerSecond), startNs_(startNs) {}

  [[nodiscard]] std::uint64_t due(std::uint64_t nowNs, std::uint64_t sent) {
    if (perSecond_ == 0) return kBurst;
    double lateNs = static_cast<double>(nowNs - startNs_) - dueNs(sent);
    if (lateNs > static_cast<double>(kBacklogMaxNs)) startNs_ += static_cast<std::uint64_t>(lateNs) - kBacklogMaxNs;
    double wanted = static_cast<double>(nowNs - startNs_) * perSecond_ / 1e9 + 1;
    return wanted > static_cast<double>(sent) ? static_cast<std::uint64_t>(wanted) - sent : 0;
  }
  [[nodiscard]] std::uint64_t nextNs(std::uint64_t sent) const {
    return startNs_ + static_cast<std::uint64_t>(dueNs(sent)) + 1;
  }

 private:
  [[nodiscard]] double dueNs(std::uint64_t sent) const { return static_cast<double>(sent) * 1e9 / perSecond_; }

  double perSecond_;
  std::uint64_t startNs_;
};

}  // namespace

Sent sendThroughSocket(const traffic_plan& plan, const SendOrder& order) {
  PacketSocket socket(order);
  Burst burst(plan);
  DeviceCounters before = readCounters(order.device);
  Sent sent;
  std::uint64_t start = monotonicNs();
  Schedule schedule(order.packetsPerSecond, start);
  for (std::uint64_t now = start; now - start < order.durationNs && !isInterrupted; now = monotonicNs()) {
    if (order.packetsPerSecond > 0 && (order.markedPacket == 0 || sent.packets < order.markedPacket)) {
      sent.lateNs = std::max(sent.lateNs, now - std::min(now, schedule.nextNs(sent.packets)));
    }
    std::uint64_t due =
        std::min({schedule.due(now, sent.packets), std::uint64_t{kBurst}, order.packets - sent.packets});
    unsigned count = static_cast<unsigned>(due);
    burst.fill(count);
    for (unsigned done = 0; done < count && !isInterrupted;) {
      std::uint64_t sendNs = monotonicNs();
      unsigned taken = socket.send(burst.messages() + done, count - done);
      if (taken > 0 && sent.packets == 0) sent.firstPacketNs = sendNs;
      for (unsigned i = done; i < done + taken; i++) sent.bytes += burst.bytes(i);
      sent.packets += taken;
      done += taken;
      if (taken == 0) continue;
      sent.durationNs = monotonicNs() - sent.firstPacketNs;
      const bool isMarked = sent.packets >= order.markedPacket && sent.packets - taken < order.markedPacket;
      if (isMarked) sent.markedPacketNs = sent.durationNs;
    }
    if (sent.packets == order.packets) break;
    if (order.packetsPerSecond > 0 && count < kBurst) {
      sleepUntil(std::max(schedule.nextNs(sent.packets), monotonicNs() + kWakeUpNs));
    }
  }
  sent.deviceDrops = readCounters(order.device).socketDrops - before.socketDrops;
  return sent;
}

}  // namespace floodwall::lab
