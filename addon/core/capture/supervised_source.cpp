#include "capture/supervised_source.h"

#include <algorithm>

namespace floodwall {
namespace {

void addDrops(std::vector<QueueStats>& totals, const std::vector<QueueStats>& drops) {
  for (const QueueStats& drop : drops) {
    auto total = std::find_if(totals.begin(), totals.end(), [&](const QueueStats& candidate) {
      return candidate.queue == drop.queue && candidate.interface == drop.interface;
    });
    if (total == totals.end()) {
      totals.push_back({.interface = drop.interface, .queue = drop.queue, .shard = {}});
      total = totals.end() - 1;
    }
    total->droppedRingFull += drop.droppedRingFull;
    total->droppedFillEmpty += drop.droppedFillEmpty;
    total->droppedKernel += drop.droppedKernel;
    total->lostSamples += drop.lostSamples;
    total->refused += drop.refused;
  }
}

/// A session whose health is not known is kept.
SessionHealth healthOf(CaptureSession& session) {
  try {
    return session.health();
  } catch (const std::exception& error) {
    return {SessionHealth::Kind::impaired, error.what()};
  }
}

}  // namespace

Shard& QueueShards::forQueue(const std::string& interface, int queue) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.queue == queue && entry.interface == interface) return *entry.shard;
  }
  entries_.push_back({interface, queue, addShard_()});
  return *entries_.back().shard;
}

std::vector<QueueStats> QueueShards::stats() const {
  const std::lock_guard lock(mutex_);
  std::vector<QueueStats> stats;
  for (const Entry& entry : entries_) {
    stats.push_back({.interface = entry.interface, .queue = entry.queue, .shard = entry.shard->stats()});
  }
  return stats;
}

SupervisedSource::SupervisedSource(AddShard addShard, OpenSession open, std::chrono::milliseconds checkInterval)
    : shards_(std::move(addShard)), open_(std::move(open)), checkInterval_(checkInterval) {
  session_ = open_(shards_);
  mode_ = session_->mode();
  error_ = healthOf(*session_).error;
  supervisor_ = std::thread([this] { supervise(); });
}

SupervisedSource::~SupervisedSource() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  wake_.notify_one();
  supervisor_.join();
}

SourceStatus SupervisedSource::status() const {
  const std::lock_guard lock(mutex_);
  SourceStatus status{.state = error_.empty() ? SourceState::running : SourceState::failed,
                      .mode = mode_,
                      .error = error_,
                      .queues = shards_.stats()};
  addDrops(status.queues, past_);
  if (session_) addDrops(status.queues, session_->drops());
  return status;
}

void SupervisedSource::supervise() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, checkInterval_, [this] { return isStopping_; })) {
    lock.unlock();
    check();
    lock.lock();
  }
}

/// Only this thread changes session_ once it runs, so that it may look at it without the lock.
void SupervisedSource::check() {
  if (!session_) return reopen();
  SessionHealth health = healthOf(*session_);
  fail(std::move(health.error));
  if (health.kind != SessionHealth::Kind::lost) return;
  endSession();
  reopen();
}

void SupervisedSource::endSession() {
  std::unique_ptr<CaptureSession> ended;
  {
    const std::lock_guard lock(mutex_);
    addDrops(past_, session_->drops());
    ended = std::move(session_);
  }
  // Its workers are joined outside the lock: who asks for the status does not wait for them.
}

void SupervisedSource::reopen() {
  std::unique_ptr<CaptureSession> opened;
  try {
    opened = open_(shards_);
  } catch (const std::exception& error) {
    // Not only SourceError: memory or threads may have run out, and the next try may find them.
    return fail(error.what());
  }
  SessionHealth health = healthOf(*opened);
  const std::lock_guard lock(mutex_);
  mode_ = opened->mode();
  error_ = std::move(health.error);
  session_ = std::move(opened);
}

void SupervisedSource::fail(std::string error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
}

}  // namespace floodwall
