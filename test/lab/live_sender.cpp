// Runs traffic_source.bpf.c over live frames in one long test run, and ends the run when the program says it is done.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device.h"
#include "live_state.h"
#include "traffic_sender.h"
// The skeleton uses the structs above without including them.
#include "traffic_source_bpf.skel.h"

namespace floodwall::lab {

namespace {

using Skeleton = std::unique_ptr<traffic_source_bpf, decltype(&traffic_source_bpf::destroy)>;

Skeleton load(const traffic_plan& plan, const SendOrder& order) {
  Skeleton skeleton(traffic_source_bpf::open_and_load(), &traffic_source_bpf::destroy);
  if (!skeleton) throw std::runtime_error(std::string("loading the BPF program: ") + std::strerror(errno));
  skeleton->bss->plan = plan;
  live_state& state = skeleton->bss->state;
  if (order.packetsPerSecond > 0) {
    state.interval = static_cast<std::uint64_t>(1e9 * (1 << LIVE_TIME_SHIFT) / order.packetsPerSecond + 0.5);
  }
  state.packets_wanted = order.packets;
  state.duration_ns = order.durationNs;
  state.marked_packet = order.markedPacket;
  std::uint32_t key = 0;
  if (bpf_map__update_elem(skeleton->maps.device, &key, sizeof(key), &order.deviceIndex, sizeof(order.deviceIndex),
                           0)) {
    throw std::runtime_error(order.device + ": " + std::strerror(errno));
  }
  return skeleton;
}

/// Ends the test run by a signal as soon as the program is done: the program itself has no way to end it.
class Watch {
 public:
  explicit Watch(const live_state& state) : sender_(pthread_self()), thread_([this, &state] { watch(state); }) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    isOver_ = true;
    thread_.join();
  }

 private:
  void watch(const live_state& state) {
    while (!isOver_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      bool isDone = __atomic_load_n(&state.is_done, __ATOMIC_RELAXED) != 0;
      if (isDone || isInterrupted) pthread_kill(sender_, SIGUSR1);
    }
  }

  pthread_t sender_;
  std::atomic<bool> isOver_{false};
  std::thread thread_;
};

/// Interrupts system calls and does nothing else.
void installWakeUp() {
  struct sigaction wakeUp {};
  wakeUp.sa_handler = [](int) {};
  sigaction(SIGUSR1, &wakeUp, nullptr);
}

}  // namespace

Sent sendLive(const traffic_plan& plan, const SendOrder& order) {
  installWakeUp();
  Skeleton skeleton = load(plan, order);
  const live_state& state = skeleton->bss->state;
  std::vector<std::uint8_t> frame(plan.frame_bytes);
  DeviceCounters before = readCounters(order.device);
  {
    Watch watch(state);
    while (__atomic_load_n(&state.is_done, __ATOMIC_RELAXED) == 0 && !isInterrupted) {
      LIBBPF_OPTS(bpf_test_run_opts, run);
      run.data_in = frame.data();
      run.data_size_in = static_cast<std::uint32_t>(frame.size());
      run.repeat = INT32_MAX;
      run.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
      run.batch_size = 64;
      int result = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.traffic_source), &run);
      if (result < 0 && result != -EINTR) {
        throw std::runtime_error(std::string("running the BPF program over live frames: ") + std::strerror(-result));
      }
    }
  }
  DeviceCounters after = readCounters(order.device);
  std::uint64_t arrived = after.liveFrames - before.liveFrames;
  return {.packets = state.packets,
          .bytes = state.bytes,
          .deviceDrops = state.packets > arrived ? state.packets - arrived : 0,
          .firstPacketNs = state.first_packet_ns,
          .durationNs = state.last_packet_ns,
          .markedPacketNs = state.marked_packet_ns,
          .lateNs = state.late_ns};
}

}  // namespace floodwall::lab
