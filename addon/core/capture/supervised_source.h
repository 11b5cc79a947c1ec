// A source that comes back by itself: it keeps the shards and the counts, opens sessions one after another, and looks
// after them about once a second from a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capture/capture_session.h"

namespace floodwall {

/// Called from any thread.
using AddShard = std::function<std::shared_ptr<Shard>()>;

/// The shards of a source by queue. They outlive its sessions, so that counts only grow; a queue's shard has one
/// worker at a time because one session ends before the next begins.
class QueueShards {
 public:
  explicit QueueShards(AddShard addShard) : addShard_(std::move(addShard)) {}

  Shard& forQueue(const std::string& interface, int queue);
  /// Counts of each shard; the drops are zero.
  [[nodiscard]] std::vector<QueueStats> stats() const;

 private:
  struct Entry {
    std::string interface;
    int queue;
    std::shared_ptr<Shard> shard;
  };
  mutable std::mutex mutex_;
  AddShard addShard_;
  std::vector<Entry> entries_;
};

/// Throws SourceError.
using OpenSession = std::function<std::unique_ptr<CaptureSession>(QueueShards&)>;

class SupervisedSource final : public CaptureSource {
 public:
  /// Opens the first session in the caller's thread; throws SourceError when that fails.
  SupervisedSource(AddShard addShard, OpenSession open,
                   std::chrono::milliseconds checkInterval = std::chrono::seconds(1));
  ~SupervisedSource() override;

  [[nodiscard]] SourceStatus status() const override;

 private:
  void supervise();
  void check();
  void endSession();
  void reopen();
  void fail(std::string error);

  QueueShards shards_;
  OpenSession open_;
  std::chrono::milliseconds checkInterval_;
  /// Guards all below; no worker ever takes it.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool isStopping_ = false;
  std::unique_ptr<CaptureSession> session_;
  /// Drops of the sessions before.
  std::vector<QueueStats> past_;
  std::string mode_;
  /// Empty while all is well.
  std::string error_;
  std::thread supervisor_;
};

}  // namespace floodwall
