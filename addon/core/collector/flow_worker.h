// One receiving thread: datagrams of a socket to the exporters that sent them, and what counts of their records to a
// shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "collector/datagram_batch.h"
#include "collector/exporter_rules.h"
#include "collector/exporter_table.h"
#include "count/shard.h"
#include "flow/record_sink.h"

namespace floodwall {

/// The rules in force, as those who set them hand them to the threads.
class RulesInForce {
 public:
  void set(std::shared_ptr<const ExporterRules> rules) {
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
    version_.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  [[nodiscard]] std::shared_ptr<const ExporterRules> get() const {
    const std::lock_guard lock(mutex_);
    return rules_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ExporterRules> rules_;
  std::atomic<std::uint64_t> version_{0};
};

/// The state of a thread, for as long as its source lives.
struct FlowThread {
  FlowThread(ExporterNumbers& numbers, const RulesInForce& inForce, SavedExporters* saved = nullptr)
      : table(numbers, saved), rules(inForce) {}

  ExporterTable table;
  const RulesInForce& rules;
  /// Version of `table`; the worker's.
  std::uint64_t rulesVersion = 0;
  // Written by the worker, read by anyone.
  std::atomic<std::uint64_t> datagrams{0};
  std::atomic<std::uint64_t> bytes{0};
  /// By the session that is open.
  std::atomic<std::uint32_t> bufferGranted{0};
  std::atomic<std::uint32_t> bufferUsed{0};
  std::atomic<std::uint64_t> clampedRecords{0};
  std::atomic<std::uint64_t> unspreadRecords{0};
};

class FlowWorker final : public RecordSink {
 public:
  /// All outlive it. Spread counts are released in each tick, whether or not anything comes.
  FlowWorker(const UniqueFd& socket, FlowThread& thread, Shard& shard, std::uint32_t tickMs);

  /// Receives until `stopFd` is readable, or the socket fails.
  void run(int stopFd);
  /// One turn: decodes what waits, as far as kWorkATurn goes, and the rest in the next one. Returns how many datagrams
  /// that were.
  unsigned turn();
  /// Steps after which a turn ends (flow_work.h), so that a fold waits for two milliseconds at most, whatever an
  /// exporter sends.
  static constexpr std::int64_t kWorkATurn = 1 << 20;
  /// Datagrams that the socket lost since it was opened. Any thread.
  [[nodiscard]] std::uint64_t overruns() const noexcept { return overruns_.load(std::memory_order_relaxed); }
  /// The errno by which the socket failed; 0: it did not. Any thread.
  [[nodiscard]] int failure() const noexcept { return failure_.load(std::memory_order_relaxed); }

 private:
  struct Now {
    /// By the monotonic clock and by the wall.
    std::uint64_t ms = 0;
    std::uint64_t wallMs = 0;
  };

  void take(std::span<FlowRecord> records) override;
  /// Waits until something may have come.
  [[nodiscard]] bool mustStop(int stopFd) const;
  /// False when nothing waits, or the socket failed.
  bool receive();
  /// Decodes the rest of the batch, as far as the turn's work goes.
  void decodeBatch();
  void publish();
  void adoptRules();
  void readBuffer();
  void readClocks() noexcept;

  const UniqueFd& socket_;
  FlowThread& thread_;
  Shard& shard_;
  const int waitMs_;
  DatagramBatch batch_;
  /// The length of the batch, and the datagram that comes next.
  unsigned received_ = 0;
  unsigned next_ = 0;
  /// Steps that the turn may still take (flow_work.h).
  std::int64_t workLeft_ = 0;
  bool hasMore_ = false;
  Now now_;
  /// Datagrams.
  unsigned receivedLast_ = 0;
  std::uint64_t publishedMs_ = 0;
  /// The exporter whose datagram is decoded.
  Exporter* exporter_ = nullptr;
  std::uint32_t lastDropped_ = 0;
  std::atomic<std::uint64_t> overruns_{0};
  std::atomic<int> failure_{0};
};

}  // namespace floodwall
