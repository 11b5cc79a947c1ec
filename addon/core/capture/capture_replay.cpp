#include "capture/capture_replay.h"

#include <algorithm>

namespace floodwall {
namespace {

/// The longest gap between frames that is replayed tick by tick. Of a longer one (captures joined in one file, a
/// damaged time stamp) the rest is skipped, so that a file cannot demand billions of ticks.
constexpr std::uint64_t kSilenceMaxNs = 3'600'000'000'000;

}  // namespace

CaptureReplay::CaptureReplay(std::shared_ptr<Engine> engine, const EngineOptions& options, std::string path,
                             const Decapsulation& wanted)
    : engine_(std::move(engine)),
      tickNs_(std::uint64_t{options.tickMs} * 1'000'000),
      windowNs_(std::uint64_t{options.windowMs} * 1'000'000),
      file_(std::move(path)),
      shard_(engine_->addShard()) {
  shard_->setDecapsulation(wanted.kinds, wanted.vxlanPorts);
}

std::optional<std::uint64_t> CaptureReplay::advance() {
  if (!hasBegun_ && !begin()) return std::nullopt;
  if (!pending_ && nowNs_ >= lastFramesNs_ + windowNs_) return std::nullopt;
  skipSilence();
  nowNs_ += tickNs_;
  countUntil(nowNs_);
  engine_->fold(nowNs_);
  return nowNs_;
}

bool CaptureReplay::begin() {
  hasBegun_ = true;
  pending_ = file_.next();
  if (!pending_) return false;
  nowNs_ = pending_->timeNs / tickNs_ * tickNs_;
  lastFramesNs_ = nowNs_;
  return true;
}

void CaptureReplay::skipSilence() {
  if (!pending_ || nowNs_ < lastFramesNs_ + kSilenceMaxNs) return;
  // One window earlier, so that the next frames are measured over ticks of their own and not over the gap.
  const std::uint64_t next = pending_->timeNs / tickNs_ * tickNs_;
  nowNs_ = std::max(nowNs_, next - std::min(next, windowNs_ + tickNs_));
}

void CaptureReplay::countUntil(std::uint64_t endNs) {
  while (pending_ && pending_->timeNs < endNs) {
    lastFramesNs_ = endNs;
    if (!batch_.takes(pending_->link)) flush();
    batch_.add(pending_->frame, pending_->link);
    pending_ = file_.next();
  }
  flush();
}

void CaptureReplay::flush() {
  if (batch_.isEmpty()) return;
  shard_->leaveIdle();
  shard_->countFrames(batch_.frames(), batch_.link());
  shard_->enterIdle();
  batch_.clear();
}

SourceStatus CaptureReplay::status() const {
  const bool isOver = hasBegun_ && !pending_;
  const SourceState state = !file_.error().empty() ? SourceState::failed
                            : isOver               ? SourceState::ended
                                                   : SourceState::running;
  const QueueStats stats{.interface = file_.path(), .queue = -1, .shard = shard_->stats()};
  return {.state = state, .mode = "capture file on its own clock", .error = file_.error(), .queues = {stats}};
}

}  // namespace floodwall
