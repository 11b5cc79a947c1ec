#include "capture/pcap_live_source.h"

#include <pcap/pcap.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

#include "capture/capture_thread.h"
#include "capture/frame_batch.h"
#include "capture/pcap_link.h"
#include "capture/worker_priority.h"
#include "program/xdp_attach.h"

namespace floodwall {
namespace {

/// Bytes of each frame: all headers but long extension headers of IPv6, for which the ring would hold fewer frames.
constexpr int kSnapLength = 256;
/// Some 80,000 frames in the kernel's ring.
constexpr int kRingBytes = 32 << 20;
/// Asking libpcap for its drops reads files in /sys, too slow for every batch.
constexpr std::chrono::milliseconds kStatsInterval{200};

struct ClosePcap {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using PcapHandle = std::unique_ptr<pcap_t, ClosePcap>;

[[noreturn]] void throwOpenError(pcap_t* handle, const std::string& interface, int error) {
  if (error == PCAP_ERROR_PERM_DENIED || error == PCAP_ERROR_PROMISC_PERM_DENIED) {
    throw SourceError("no permission to capture on interface " + interface +
                      ": run as root, or give the service CAP_NET_RAW");
  }
  if (error == PCAP_ERROR_IFACE_NOT_UP) {
    throw SourceError("interface " + interface + " is down: set it up with `ip link set " + interface + " up`");
  }
  const std::string detail = pcap_geterr(handle);
  throw SourceError("cannot capture on interface " + interface + ": " +
                    (detail.empty() ? pcap_statustostr(error) : detail));
}

PcapHandle openHandle(const std::string& interface) {
  std::array<char, PCAP_ERRBUF_SIZE> message{};
  PcapHandle handle(pcap_create(interface.c_str(), message.data()));
  if (!handle) throw SourceError("cannot capture on interface " + interface + ": " + message.data());
  pcap_set_snaplen(handle.get(), kSnapLength);
  pcap_set_promisc(handle.get(), 1);
  // Frames are handed over as they come, not once a block is full: an attack is seen a tick earlier.
  pcap_set_immediate_mode(handle.get(), 1);
  pcap_set_buffer_size(handle.get(), kRingBytes);
  if (const int error = pcap_activate(handle.get()); error < 0) throwOpenError(handle.get(), interface, error);
  if (pcap_setdirection(handle.get(), PCAP_D_IN) != 0 || pcap_setnonblock(handle.get(), 1, message.data()) != 0) {
    throwOpenError(handle.get(), interface, PCAP_ERROR);
  }
  return handle;
}

class PcapLiveSession final : public CaptureSession {
 public:
  PcapLiveSession(const PcapLiveOptions& options, QueueShards& shards);

  [[nodiscard]] std::string mode() const override { return "libpcap"; }
  [[nodiscard]] SessionHealth health() override;
  [[nodiscard]] std::vector<QueueStats> drops() const override {
    return {{.interface = device_.name, .queue = -1, .shard = {}, .droppedKernel = dropped_.load()}};
  }

 private:
  void receiveAll(int stopFd);
  /// False when the device is lost.
  bool receiveBatch();
  void updateDrops();

  NetworkDevices devices_;
  NetworkDevice device_;
  PcapHandle handle_;
  PcapLink link_;
  Shard& shard_;
  FrameBatch batch_;
  std::chrono::steady_clock::time_point statsAt_{};
  std::uint32_t lastDrops_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  mutable std::mutex mutex_;
  /// Why the worker gave up.
  std::string error_;
  std::optional<CaptureThread> worker_;
};

PcapLiveSession::PcapLiveSession(const PcapLiveOptions& options, QueueShards& shards)
    : device_(devices_.require(options.interface)),
      handle_(openHandle(device_.name)),
      link_(pcap_datalink(handle_.get()), "interface " + device_.name),
      shard_(shards.forQueue(device_.name, -1)) {
  worker_.emplace("pcap-" + device_.name, cpuFor(options.cpus, 0), [this](int stopFd) { receiveAll(stopFd); });
}

void PcapLiveSession::receiveAll(int stopFd) {
  raisePriority();
  const int fd = pcap_get_selectable_fd(handle_.get());
  while (waitReadable(fd, stopFd, static_cast<int>(kStatsInterval.count())) == Wakeup::data) {
    if (!receiveBatch()) return;
    updateDrops();
  }
}

bool PcapLiveSession::receiveBatch() {
  const auto take = [](u_char* self, const pcap_pkthdr* header, const u_char* data) {
    auto* session = reinterpret_cast<PcapLiveSession*>(self);
    session->batch_.add(session->link_.strip({data, header->caplen, header->len}), session->link_.link());
  };
  batch_.clear();
  const int count = pcap_dispatch(handle_.get(), kBatch, take, reinterpret_cast<u_char*>(this));
  if (!batch_.isEmpty()) {
    shard_.leaveIdle();
    shard_.countFrames(batch_.frames(), link_.link());
    shard_.enterIdle();
  }
  if (count >= 0) return true;
  const std::lock_guard lock(mutex_);
  const std::string detail = pcap_geterr(handle_.get());
  error_ = detail.empty() ? pcap_statustostr(count) : detail;
  return false;
}

/// libpcap's counters have 32 bits and wrap: differences are added up.
void PcapLiveSession::updateDrops() {
  const auto now = std::chrono::steady_clock::now();
  if (now - statsAt_ < kStatsInterval) return;
  statsAt_ = now;
  pcap_stat stats{};
  if (pcap_stats(handle_.get(), &stats) != 0) return;
  const std::uint32_t drops = stats.ps_drop + stats.ps_ifdrop;
  dropped_ += drops - lastDrops_;
  lastDrops_ = drops;
}

SessionHealth PcapLiveSession::health() {
  using Kind = SessionHealth::Kind;
  const std::string interface = "interface " + device_.name;
  const auto now = devices_.find(device_.name);
  if (!now) return {Kind::lost, interface + " is gone: create it again, capture goes on by itself"};
  if (now->index != device_.index) return {Kind::lost, interface + " was replaced: capture starts again by itself"};
  {
    const std::lock_guard lock(mutex_);
    if (!error_.empty()) return {Kind::lost, "capture on " + interface + " failed: " + error_ + "; it is opened again"};
  }
  std::string fault = linkFault(*now);
  const Kind kind = fault.empty() ? Kind::good : Kind::impaired;
  return {kind, std::move(fault)};
}

}  // namespace

std::unique_ptr<CaptureSource> openPcapLive(PcapLiveOptions options, AddShard addShard) {
  return std::make_unique<SupervisedSource>(std::move(addShard), [options = std::move(options)](QueueShards& shards) {
    return std::make_unique<PcapLiveSession>(options, shards);
  });
}

}  // namespace floodwall
