#include "capture/pcap_file_source.h"

#include <chrono>
#include <mutex>

#include "capture/capture_thread.h"
#include "capture/frame_batch.h"
#include "capture/pcap_file.h"

namespace floodwall {
namespace {

using Clock = std::chrono::steady_clock;

class PcapFileSource final : public CaptureSource {
 public:
  PcapFileSource(std::string path, Pace pace, const AddShard& addShard)
      : file_(std::move(path)),
        pace_(pace),
        shard_(addShard()),
        worker_("pcap-file", std::nullopt, [this](int stopFd) { play(stopFd); }) {}

  [[nodiscard]] SourceStatus status() const override {
    const std::lock_guard lock(mutex_);
    const QueueStats stats{.interface = file_.path(), .queue = -1, .shard = shard_->stats()};
    const char* mode = pace_ == Pace::real ? "capture file at its own pace" : "capture file as fast as it can be read";
    return {.state = state_, .mode = mode, .error = error_, .queues = {stats}};
  }

 private:
  void play(int stopFd);
  void flush();
  bool waitFor(std::uint64_t timeNs, int stopFd);
  void end();

  PcapFile file_;
  Pace pace_;
  std::shared_ptr<Shard> shard_;
  FrameBatch batch_;
  /// The time of the first frame, and when it was played.
  std::optional<std::uint64_t> firstNs_;
  Clock::time_point started_;
  mutable std::mutex mutex_;
  SourceState state_ = SourceState::running;
  std::string error_;
  CaptureThread worker_;
};

/// Reading may wait for a disk, hence the shard is idle except while it counts.
void PcapFileSource::play(int stopFd) {
  while (const auto record = file_.next()) {
    if (pace_ == Pace::real && !waitFor(record->timeNs, stopFd)) return;
    if (!batch_.takes(record->link)) {
      flush();
      if (waitReadable(-1, stopFd, 0) == Wakeup::stop) return;
    }
    batch_.add(record->frame, record->link);
  }
  flush();
  end();
}

void PcapFileSource::flush() {
  if (batch_.isEmpty()) return;
  shard_->leaveIdle();
  shard_->countFrames(batch_.frames(), batch_.link());
  shard_->enterIdle();
  batch_.clear();
}

/// Returns false when the thread must stop. A frame whose time is past, also one that goes back, is due at once.
bool PcapFileSource::waitFor(std::uint64_t timeNs, int stopFd) {
  using namespace std::chrono;
  if (!firstNs_) {
    firstNs_ = timeNs;
    started_ = Clock::now();
  }
  if (timeNs <= *firstNs_) return true;
  const std::uint64_t offsetNs = timeNs - *firstNs_;
  for (;;) {
    const auto playedNs = static_cast<std::uint64_t>(nanoseconds(Clock::now() - started_).count());
    if (offsetNs <= playedNs) return true;
    flush();
    // To the millisecond, as poll() has it, and in steps that fit it.
    constexpr std::uint64_t kStepMs = 1000;
    const std::uint64_t waitMs = std::min((offsetNs - playedNs) / 1'000'000 + 1, kStepMs);
    if (waitReadable(-1, stopFd, static_cast<int>(waitMs)) == Wakeup::stop) return false;
  }
}

void PcapFileSource::end() {
  const std::lock_guard lock(mutex_);
  error_ = file_.error();
  state_ = error_.empty() ? SourceState::ended : SourceState::failed;
}

}  // namespace

std::unique_ptr<CaptureSource> openPcapFile(std::string path, Pace pace, const AddShard& addShard) {
  return std::make_unique<PcapFileSource>(std::move(path), pace, addShard);
}

}  // namespace floodwall
