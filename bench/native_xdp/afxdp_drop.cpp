// A minimal AF_XDP receiver: takes the frames of an interface's first queue, counts them and returns their buffers.
// Copy mode, ring, buffers, batch, pauses and priority are those of our own source (xsk_socket.cpp, af_xdp_source.cpp),
// so that the difference is the cost of counting. Prints "ready", receives until its standard input ends, and prints
// the number of received packets as a line of JSON.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xdp/xsk.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "xdp_to_socket.skel.h"

namespace {

constexpr std::uint32_t kBuffers = 8192, kBufferBytes = 2048, kBatch = 64;
constexpr std::size_t kAreaBytes = std::size_t{kBuffers} * kBufferBytes;
constexpr std::uint64_t kWorthAPause = 4;
constexpr std::chrono::microseconds kPause{100};

void require(bool isDone, const char* what) {
  if (!isDone) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

// Nothing is released: the process exits after the measurement.
class BareReceiver {
 public:
  explicit BareReceiver(const char* interface) {
    openSocket(interface);
    fillAll();
    attach(interface);
  }

  [[nodiscard]] int fd() const { return xsk_socket__fd(socket_); }
  [[nodiscard]] std::uint64_t received() const { return received_; }

  /// False when there was nothing.
  bool receive() {
    std::uint32_t first = 0;
    const std::uint32_t count = xsk_ring_cons__peek(&rx_, kBatch, &first);
    if (count == 0) return false;
    std::uint32_t place = 0;
    xsk_ring_prod__reserve(&fill_, count, &place);
    for (std::uint32_t i = 0; i < count; i++) {
      const std::uint64_t address = xsk_ring_cons__rx_desc(&rx_, first + i)->addr;
      *xsk_ring_prod__fill_addr(&fill_, place + i) = address & ~std::uint64_t{kBufferBytes - 1};
    }
    xsk_ring_prod__submit(&fill_, count);
    xsk_ring_cons__release(&rx_, count);
    received_ += count;
    if (xsk_ring_prod__needs_wakeup(&fill_)) recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    return true;
  }

  /// In copy mode a frame that finds the fill ring empty is counted in both of the last two.
  [[nodiscard]] std::uint64_t dropped() const {
    xdp_statistics statistics{};
    socklen_t length = sizeof statistics;
    require(getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &statistics, &length) == 0, "XDP_STATISTICS");
    return statistics.rx_ring_full + std::max(statistics.rx_dropped, statistics.rx_fill_ring_empty_descs);
  }

 private:
  void openSocket(const char* interface) {
    void* area = mmap(nullptr, kAreaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (area == MAP_FAILED) {
      area = mmap(nullptr, kAreaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      require(area != MAP_FAILED, "memory for the buffers");
      madvise(area, kAreaBytes, MADV_HUGEPAGE);
    }
    const xsk_umem_config umemConfig{.fill_size = kBuffers,
                                     .comp_size = XSK_RING_CONS__DEFAULT_NUM_DESCS,
                                     .frame_size = kBufferBytes,
                                     .frame_headroom = 0,
                                     .flags = 0};
    xsk_umem* umem = nullptr;
    require(xsk_umem__create(&umem, area, kAreaBytes, &fill_, &completion_, &umemConfig) == 0, "registering buffers");
    xsk_socket_config config{};
    config.rx_size = kBuffers;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    // The kernel releases a queue a moment after its last socket was closed.
    int error = -EBUSY;
    for (int tries = 50; error == -EBUSY && tries > 0; tries--) {
      error = xsk_socket__create(&socket_, interface, 0, umem, &rx_, nullptr, &config);
      if (error == -EBUSY) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    require(error == 0, "binding the socket");
  }

  void fillAll() {
    std::uint32_t place = 0;
    xsk_ring_prod__reserve(&fill_, kBuffers, &place);
    for (std::uint32_t i = 0; i < kBuffers; i++) {
      *xsk_ring_prod__fill_addr(&fill_, place + i) = std::uint64_t{i} * kBufferBytes;
    }
    xsk_ring_prod__submit(&fill_, kBuffers);
  }

  /// The link goes with the process, however it ends.
  void attach(const char* interface) {
    xdp_to_socket_bpf* program = xdp_to_socket_bpf__open_and_load();
    require(program != nullptr, "loading the program");
    const std::uint32_t queue = 0;
    const int socket = fd();
    require(bpf_map_update_elem(bpf_map__fd(program->maps.socket), &queue, &socket, BPF_ANY) == 0, "steering frames");
    const int index = static_cast<int>(if_nametoindex(interface));
    require(bpf_program__attach_xdp(program->progs.xdp_to_socket, index) != nullptr, "attaching the program");
  }

  xsk_ring_prod fill_{};
  xsk_ring_cons completion_{};
  xsk_ring_cons rx_{};
  xsk_socket* socket_ = nullptr;
  std::uint64_t received_ = 0;
};

void receiveUntilInputEnds(BareReceiver& receiver) {
  const auto drain = [&receiver] {
    const std::uint64_t before = receiver.received();
    while (receiver.receive()) {
    }
    return receiver.received() - before;
  };
  for (bool goesOn = true; goesOn;) {
    if (drain() < kWorthAPause) {
      pollfd polled[]{{STDIN_FILENO, POLLIN, 0}, {receiver.fd(), POLLIN, 0}};
      poll(polled, 2, -1);
      goesOn = polled[0].revents == 0;
    }
    std::this_thread::sleep_for(kPause);
  }
  drain();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: afxdp_drop INTERFACE");
  const sched_param leastRealTime{.sched_priority = 1};
  require(sched_setscheduler(0, SCHED_RR, &leastRealTime) == 0, "real-time priority");
  BareReceiver receiver(argv[1]);
  std::puts("ready");
  std::fflush(stdout);
  receiveUntilInputEnds(receiver);
  std::printf("{\"receivedPackets\":%" PRIu64 ",\"countedPackets\":%" PRIu64 ",\"droppedPackets\":%" PRIu64 "}\n",
              receiver.received(), receiver.received(), receiver.dropped());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "afxdp_drop: %s\n", error.what());
  return 1;
}
