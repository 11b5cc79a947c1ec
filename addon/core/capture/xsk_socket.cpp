#include "capture/xsk_socket.h"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "program/xdp_attach.h"

// Younger than the kernel headers of Debian 12.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

namespace floodwall {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::string placeText(const NetworkDevice& device, std::uint32_t queue) {
  return "queue " + std::to_string(queue) + " of interface " + device.name;
}

[[noreturn]] void throwBindError(const NetworkDevice& device, std::uint32_t queue, int error) {
  const std::string place = placeText(device, queue);
  switch (error) {
    case EPERM:
    case EACCES:
      throw SourceError("no permission to open an AF_XDP socket on " + place + ": " + kPermissionRemedy);
    case EBUSY:
      throw XskBusy("another AF_XDP socket holds " + place + ": stop its owner");
    case ENODEV:
      throw SourceError("interface " + device.name + " is gone: create it again");
    case ENOBUFS:
      throw SourceError("not enough locked memory for " + place + ": raise LimitMEMLOCK, or run as root");
    case EAFNOSUPPORT:
      throw SourceError("the kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS): use the pcap backend on " +
                        device.name);
    default:
      throw XskRefusal("cannot bind an AF_XDP socket to " + place + ": " + strerror(error));
  }
}

}  // namespace

void XskSocket::Unmap::operator()(std::uint8_t* area) const { munmap(area, bytes); }

XskSocket::XskSocket(const NetworkDevice& device, std::uint32_t queue, const Options& options)
    : options_(options), area_(mapArea(std::size_t{kXskBuffers} * options.bufferBytes)) {
  registerArea();
  bind(device, queue);
  fillAll();
}

/// Huge pages spare the worker a page walk per frame; where none are reserved, transparent ones are requested.
std::unique_ptr<std::uint8_t, XskSocket::Unmap> XskSocket::mapArea(std::size_t bytes) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* area = bytes % kHugePage == 0 ? mmap(nullptr, bytes, kProtection, kFlags | MAP_HUGETLB, -1, 0) : MAP_FAILED;
  if (area == MAP_FAILED) {
    area = mmap(nullptr, bytes, kProtection, kFlags, -1, 0);
    if (area == MAP_FAILED) throw SourceError("not enough memory for the packet buffers of a queue");
    madvise(area, bytes, MADV_HUGEPAGE);
  }
  return {static_cast<std::uint8_t*>(area), Unmap{bytes}};
}

void XskSocket::registerArea() {
  const xsk_umem_config config{.fill_size = kXskBuffers,
                               .comp_size = XSK_RING_CONS__DEFAULT_NUM_DESCS,
                               .frame_size = options_.bufferBytes,
                               .frame_headroom = 0,
                               .flags = 0};
  xsk_umem* umem = nullptr;
  const int error = -xsk_umem__create(&umem, area_.get(), area_.get_deleter().bytes, &fill_, &completion_, &config);
  umem_.reset(umem);
  if (error == EPERM) throw SourceError(std::string("no permission to open AF_XDP sockets: ") + kPermissionRemedy);
  if (error == ENOBUFS) {
    throw SourceError("not enough locked memory for packet buffers: raise LimitMEMLOCK, or run as root");
  }
  if (error != 0) throw SourceError(std::string("cannot register packet buffers for AF_XDP: ") + strerror(error));
}

void XskSocket::bind(const NetworkDevice& device, std::uint32_t queue) {
  const int flags =
      XDP_USE_NEED_WAKEUP | (options_.zeroCopy ? XDP_ZEROCOPY : XDP_COPY) | (options_.multiBuffer ? XDP_USE_SG : 0);
  xsk_socket_config config{};
  config.rx_size = kXskBuffers;
  // The program is our own, attached once all sockets stand.
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  config.bind_flags = static_cast<__u16>(flags);
  xsk_socket* socket = nullptr;
  const int error = -xsk_socket__create(&socket, device.name.c_str(), queue, umem_.get(), &rx_, nullptr, &config);
  socket_.reset(socket);
  if (error != 0) throwBindError(device, queue, error);
}

void XskSocket::fillAll() {
  std::uint32_t index = 0;
  xsk_ring_prod__reserve(&fill_, kXskBuffers, &index);
  for (std::uint32_t i = 0; i < kXskBuffers; i++) {
    *xsk_ring_prod__fill_addr(&fill_, index + i) = std::uint64_t{i} * options_.bufferBytes;
  }
  xsk_ring_prod__submit(&fill_, kXskBuffers);
}

std::uint32_t XskSocket::receive(Shard& shard) {
  std::array<Frame, kBatch> frames;
  std::uint32_t first = 0;
  const std::uint32_t available = xsk_ring_cons__peek(&rx_, kBatch, &first);
  if (available == 0) return 0;
  std::uint32_t used = 0;
  const std::uint32_t count = collect(first, available, frames, used);
  // The pieces of a frame whose end is not yet in the batch are taken the next time.
  xsk_ring_cons__cancel(&rx_, available - used);
  shard.countFrames({frames.data(), count}, Link::ethernet);
  giveBack(first, used);
  return used;
}

/// Joins the pieces of each frame: its headers are in the first one, its length is the sum. Returns how many frames.
std::uint32_t XskSocket::collect(std::uint32_t first, std::uint32_t available, std::span<Frame> frames,
                                 std::uint32_t& used) {
  std::uint32_t count = 0;
  bool goesOn = false;
  for (std::uint32_t i = 0; i < available; i++) {
    const xdp_desc* piece = xsk_ring_cons__rx_desc(&rx_, first + i);
    if (goesOn) {
      frames[count].wire += piece->len;
    } else {
      frames[count] = {area_.get() + piece->addr, piece->len, piece->len};
    }
    goesOn = (piece->options & XDP_PKT_CONTD) != 0;
    if (goesOn) continue;
    count++;
    used = i + 1;
  }
  return count;
}

/// The fill ring has a place for every buffer there is, so that a reservation cannot fail.
void XskSocket::giveBack(std::uint32_t first, std::uint32_t count) {
  const std::uint64_t bufferMask = ~std::uint64_t{options_.bufferBytes - 1};
  std::uint32_t index = 0;
  xsk_ring_prod__reserve(&fill_, count, &index);
  for (std::uint32_t i = 0; i < count; i++) {
    *xsk_ring_prod__fill_addr(&fill_, index + i) = xsk_ring_cons__rx_desc(&rx_, first + i)->addr & bufferMask;
  }
  xsk_ring_prod__submit(&fill_, count);
  xsk_ring_cons__release(&rx_, count);
  if (xsk_ring_prod__needs_wakeup(&fill_)) recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

XskDrops XskSocket::drops() const {
  xdp_statistics statistics{};
  socklen_t length = sizeof statistics;
  if (getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) return {};
  XskDrops drops{statistics.rx_ring_full, statistics.rx_fill_ring_empty_descs, statistics.rx_dropped};
  // In copy mode a frame that finds the fill ring empty is counted in both.
  if (!options_.zeroCopy) drops.other -= std::min(drops.other, drops.fillEmpty);
  return drops;
}

}  // namespace floodwall
