#include "capture/af_xdp_source.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>

#include "capture/capture_thread.h"
#include "capture/mirror_program.h"
#include "capture/promiscuous_mode.h"
#include "capture/worker_priority.h"
#include "capture/xsk_socket.h"

namespace floodwall {
namespace {

/// Bytes that the kernel keeps free before each frame.
constexpr std::uint32_t kHeadroom = 256;
/// Ethernet header and two VLAN tags.
constexpr std::uint32_t kLinkHeaderMax = 22;

/// A worker that found this number of buffers or more looks again after a pause. The kernel wakes a waiting thread for
/// each handful of frames, and the CPU that receives them pays more for that than for the frames themselves. In a pause
/// of 100 us the fastest port of 10 Gbit/s fills a fifth of the buffers. A worker that found fewer waits in poll() and
/// pauses after that, two wake-ups instead of one.
constexpr std::uint64_t kWorthAPause = 4;
constexpr std::chrono::microseconds kPause{100};

/// Hands over all that is there; returns how many buffers that were.
std::uint64_t drain(XskSocket& socket, Shard& shard, WorkerPriority& priority) {
  std::uint64_t drained = 0;
  while (const std::uint32_t buffers = socket.receive(shard)) {
    drained += buffers;
    priority.worked(drained);
  }
  priority.rested();
  return drained;
}

/// Hands over what arrives until it must stop, then what is still there.
void receiveAll(XskSocket& socket, Shard& shard, WorkerPriority& priority, int stopFd) {
  shard.leaveIdle();
  for (;;) {
    const bool isBusy = drain(socket, shard, priority) >= kWorthAPause;
    shard.enterIdle();
    const Wakeup wakeup = isBusy ? Wakeup::data : waitReadable(socket.fd(), stopFd, -1);
    if (wakeup == Wakeup::data) std::this_thread::sleep_for(kPause);
    shard.leaveIdle();
    if (wakeup == Wakeup::stop) break;
  }
  drain(socket, shard, priority);
  shard.enterIdle();
}

/// Modes to try with the kernel, best first.
std::vector<XskSocket::Options> attempts(const NetworkDevice& device, ZeroCopy wanted, bool isGeneric) {
  const std::uint32_t frame = device.mtu + kLinkHeaderMax + kHeadroom;
  const std::uint32_t buffer = frame <= kSmallBuffer ? kSmallBuffer : kLargeBuffer;
  std::vector<XskSocket::Options> list;
  // A driver may support zero copy and not frames in several buffers: with zero copy these are requested only if frames
  // need them. In copy mode they cost nothing, and also take segments that the stack merged beyond the MTU.
  if (!isGeneric && wanted != ZeroCopy::off) {
    list.push_back({.zeroCopy = true, .multiBuffer = frame > kLargeBuffer, .bufferBytes = buffer});
  }
  if (wanted != ZeroCopy::on) {
    list.push_back({.zeroCopy = false, .multiBuffer = true, .bufferBytes = buffer});
    list.push_back({.zeroCopy = false, .multiBuffer = false, .bufferBytes = kLargeBuffer});
  }
  return list;
}

std::vector<std::uint32_t> chooseQueues(const NetworkDevice& device, const AfXdpOptions& options) {
  std::vector<std::uint32_t> queues(device.rxQueues);
  std::iota(queues.begin(), queues.end(), 0U);
  if (!options.queues) return queues;
  for (const std::uint32_t queue : *options.queues) {
    if (queue < device.rxQueues) continue;
    throw SourceError("interface " + device.name + " has no RX queue " + std::to_string(queue) + ", it has " +
                      std::to_string(device.rxQueues) + ": correct its queues, or raise them with `ethtool -L " +
                      device.name + "`");
  }
  return *options.queues;
}

SourceError needsNative(const std::string& interface) {
  return SourceError("zero copy on interface " + interface + " needs native XDP: set zero_copy to auto or false");
}

/// The kernel releases a queue a moment after its last socket was closed: wait for that rather than fail.
std::unique_ptr<XskSocket> openSocket(const NetworkDevice& device, std::uint32_t queue,
                                      const XskSocket::Options& options) {
  using namespace std::chrono;
  const auto deadline = steady_clock::now() + milliseconds(500);
  for (;;) {
    try {
      return std::make_unique<XskSocket>(device, queue, options);
    } catch (const XskBusy&) {
      if (steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
}

class AfXdpSession final : public CaptureSession {
 public:
  AfXdpSession(const AfXdpOptions& options, QueueShards& shards);

  /// With zero copy the driver passes frames to the socket itself: a generic program, after the driver, sees none.
  [[nodiscard]] bool bypassesProgram() const { return isZeroCopy_ && !link_->isNative(); }
  [[nodiscard]] std::string mode() const override;
  [[nodiscard]] SessionHealth health() override;
  [[nodiscard]] std::vector<QueueStats> drops() const override;

 private:
  void openSockets(const AfXdpOptions& options);
  void openSocketsWith(const XskSocket::Options& attempt);
  void startWorkers(const std::vector<int>& cpus, QueueShards& shards);

  NetworkDevices devices_;
  NetworkDevice device_;
  bool takesAllQueues_;
  std::vector<std::uint32_t> queues_;
  /// Made with the sockets, by what they can take.
  std::optional<MirrorProgram> program_;
  bool isZeroCopy_ = false;
  /// The priority that the workers got; each of them sets it when it begins.
  std::atomic<Priority> priority_ = Priority::unknown;
  // Destroyed from the last to the first: detached, workers joined, sockets closed.
  std::vector<std::unique_ptr<XskSocket>> sockets_;
  std::vector<std::unique_ptr<CaptureThread>> workers_;
  std::optional<XdpLink> link_;
  UniqueFd promiscuousMode_;
};

AfXdpSession::AfXdpSession(const AfXdpOptions& options, QueueShards& shards)
    : device_(devices_.require(options.interface)),
      takesAllQueues_(!options.queues),
      queues_(chooseQueues(device_, options)) {
  // Before the sockets: the owner of a program often holds the queues too, and only this error can name the program.
  requireNoProgram(device_);
  openSockets(options);
  startWorkers(options.cpus, shards);
  // Last, so that no frame is steered to a socket without a worker.
  link_ = XdpLink::attach(program_->programFd(), device_, options.xdpMode);
  promiscuousMode_ = wantPromiscuousMode(device_);
}

void AfXdpSession::openSockets(const AfXdpOptions& options) {
  const auto list = attempts(device_, options.zeroCopy, options.xdpMode == XdpMode::generic);
  for (std::size_t i = 0; i < list.size(); i++) {
    try {
      return openSocketsWith(list[i]);
    } catch (const XskRefusal& refusal) {
      sockets_.clear();
      if (i + 1 < list.size()) continue;
      const char* remedy = list[i].zeroCopy ? "; set zero_copy to auto or false" : "; use the pcap backend";
      throw SourceError(std::string(refusal.what()) + remedy);
    }
  }
  throw needsNative(device_.name);
}

void AfXdpSession::openSocketsWith(const XskSocket::Options& attempt) {
  // Before Linux 6.6 sockets take no frames in pieces, and what is redirected to them is lost without a count. A
  // program that takes none either has the driver refuse the MTU instead, with its reason.
  const bool takesPieces = attempt.zeroCopy || attempt.multiBuffer;
  program_.emplace(*std::max_element(queues_.begin(), queues_.end()) + 1, takesPieces);
  for (const std::uint32_t queue : queues_) {
    sockets_.push_back(openSocket(device_, queue, attempt));
    const int fd = sockets_.back()->fd();
    if (bpf_map_update_elem(program_->socketsFd(), &queue, &fd, BPF_ANY) != 0) {
      throw SourceError("cannot steer frames to queue " + std::to_string(queue) + " of interface " + device_.name +
                        ": " + strerror(errno));
    }
  }
  isZeroCopy_ = attempt.zeroCopy;
}

/// Returns when all workers are ready to count at once.
void AfXdpSession::startWorkers(const std::vector<int>& cpus, QueueShards& shards) {
  const auto starting = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(queues_.size()));
  for (std::size_t i = 0; i < queues_.size(); i++) {
    Shard& shard = shards.forQueue(device_.name, static_cast<int>(queues_[i]));
    workers_.push_back(
        std::make_unique<CaptureThread>("rx" + std::to_string(queues_[i]) + "-" + device_.name, cpuFor(cpus, i),
                                        [this, starting, socket = sockets_[i].get(), &shard](int stopFd) {
                                          // By the worker, so that it is memory near its CPU.
                                          shard.commitMemory();
                                          starting->count_down();
                                          WorkerPriority priority;
                                          priority_ = priority.highest();
                                          priority_.notify_all();
                                          receiveAll(*socket, shard, priority, stopFd);
                                        }));
  }
  starting->wait();
}

std::string AfXdpSession::mode() const {
  priority_.wait(Priority::unknown);
  return link_->modeText() + ", " + (isZeroCopy_ ? "zero copy" : "copy mode") + ", " + std::to_string(queues_.size()) +
         (queues_.size() == 1 ? " queue, " : " queues, ") + priorityText(priority_);
}

SessionHealth AfXdpSession::health() {
  using Kind = SessionHealth::Kind;
  const std::string interface = "interface " + device_.name;
  const auto now = devices_.find(device_.name);
  if (!now) return {Kind::lost, interface + " is gone: create it again, capture goes on by itself"};
  if (now->index != device_.index) return {Kind::lost, interface + " was replaced: capture starts again by itself"};
  if (!link_->isAttached()) return {Kind::lost, interface + " lost our XDP program: another process detached it"};
  if (takesAllQueues_ && now->rxQueues != device_.rxQueues) {
    return {Kind::lost, interface + " changed its RX queues: capture starts again by itself"};
  }
  std::string fault = linkFault(*now);
  const Kind kind = fault.empty() ? Kind::good : Kind::impaired;
  return {kind, std::move(fault)};
}

std::vector<QueueStats> AfXdpSession::drops() const {
  std::vector<QueueStats> stats;
  for (std::size_t i = 0; i < queues_.size(); i++) {
    const XskDrops drops = sockets_[i]->drops();
    stats.push_back({.interface = device_.name,
                     .queue = static_cast<int>(queues_[i]),
                     .shard = {},
                     .droppedRingFull = drops.ringFull,
                     .droppedFillEmpty = drops.fillEmpty,
                     .droppedKernel = drops.other + program_->passed(queues_[i])});
  }
  return stats;
}

std::unique_ptr<CaptureSession> openSession(const AfXdpOptions& options, QueueShards& shards) {
  auto session = std::make_unique<AfXdpSession>(options, shards);
  if (!session->bypassesProgram()) return session;
  if (options.zeroCopy == ZeroCopy::on) throw needsNative(options.interface);
  session.reset();
  AfXdpOptions copying = options;
  copying.zeroCopy = ZeroCopy::off;
  return std::make_unique<AfXdpSession>(copying, shards);
}

}  // namespace

std::unique_ptr<CaptureSource> openAfXdp(AfXdpOptions options, AddShard addShard) {
  return std::make_unique<SupervisedSource>(std::move(addShard), [options = std::move(options)](QueueShards& shards) {
    return openSession(options, shards);
  });
}

}  // namespace floodwall
