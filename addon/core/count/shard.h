// The counts of one worker. One thread counts, the engine's fold takes the counts over without a lock and without
// stopping it. A shard knows packets and networks; it knows nothing of windows, thresholds or where frames come from.
//
// Each thread has a type: `Shard` is the worker's, which alone can change rows; the fold has a ShardFoldSide; all
// others have a ShardReaderSide.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/address.h"
#include "count/counters.h"
#include "count/doorkeeper.h"
#include "count/evictions.h"
#include "count/external_senders.h"
#include "count/flow_filter.h"
#include "count/flow_record.h"
#include "count/handover.h"
#include "count/host_index.h"
#include "count/host_rows.h"
#include "count/networks.h"
#include "count/shard_reader_side.h"
#include "count/spread_pool.h"
#include "count/watched_hosts.h"
#include "parse/frame.h"
#include "parse/packet_parser.h"

namespace floodwall {

/// Packets of one record, after it is multiplied; a lying exporter must not overflow sums.
inline constexpr std::uint64_t kRecordPacketsMax = std::uint64_t{1} << 40, kRecordBytesMax = std::uint64_t{1} << 50;
inline constexpr std::uint32_t kSamplingRateMax = 1U << 24;
/// Sampling rate of a source of frames.
inline constexpr std::uint32_t kFrameSamplingRateMax = 1'000'000;
/// The longest time over which a record is spread: of a flow that is reported when it ends, as long as that.
inline constexpr std::uint32_t kRecordMsMax = 86'400'000;

/// Made by Engine::addShard for one worker: one thread at a time.
class Shard : public ShardReaderSide {
 public:
  explicit Shard(std::shared_ptr<const Control> control);

  /// Sets which encapsulations are removed. Call before the first frame.
  void setDecapsulation(Encapsulations kinds, VxlanPorts ports = {}) noexcept {
    wanted_ = {.kinds = kinds, .vxlanPorts = ports};
  }
  /// Counts any number of frames; does not keep them. Not while idle. A packet out of a tunnel counts if it goes to the
  /// networks, or comes from them where that is counted; else the packet around it does.
  void countFrames(std::span<const Frame> frames, Link link);
  /// For frames, from the next one on: one in this number was copied to us, and each counts as that number. 1 at first,
  /// at most kFrameSamplingRateMax. Before the worker begins.
  void setSamplingRate(std::uint32_t rate) noexcept { samplingRate_ = rate; }
  /// Frames of these were not sent by a host of ours, whatever source they name. Before the worker begins.
  void setExternalSenders(ExternalSenders senders) {
    externalSenders_ = std::move(senders);
    countsOutgoing_ = control_.countOutgoing && !externalSenders_.areAll;
  }
  /// Counts any number of records, each as `packets` and `bytes` times its sampling rate (where that is 0, once); does
  /// not keep them. A record longer than the window is counted over the time that it lasted, from now on: call
  /// releaseDue(). A record that counts in no direction is not received at all. Not while idle.
  void countRecords(std::span<const FlowRecord> records);
  /// For sampled packets that were taken out of `kinds`, before they are counted: where the innermost one is in no
  /// network, the record gets the one around it. The same of records that name two packets: of these the outer one
  /// counts where nothing is taken apart. Not while idle.
  void chooseLayers(std::span<FlowRecord> records, Encapsulations kinds);
  /// Counts what is due of records that are spread. Call it at least once a tick, also where nothing arrives, with the
  /// monotonic time; a late call also counts what was due before. Does something once an epoch only: 65,536 entries at
  /// most, or what visits all of them twice a window. Not while idle.
  void releaseDue(std::uint64_t nowMs);
  /// Adds what the kernel counted for a host since the last call, and to the stats as received and counted. A packet
  /// that the kernel counted in both directions must be handed over in one of them only for its stats to add up.
  void addHostCounts(const Address& address, Direction direction, const Counters& delta);
  /// The same for packets of hosts for which the kernel had no row.
  void addNetworkCounts(std::uint32_t network, Direction direction, const Counters& delta);
  /// Adds to the stats and to nothing else: outcomes that the kernel alone saw, or, modulo 2^64, corrections.
  /// Received packets are the sum of the others.
  void addOutcomes(const ShardStats& delta);
  /// Keeps a header that the kernel chose as a sample, one packet in `every`; `verdict` is a filter_verdict,
  /// FILTER_VERDICTS if nothing judged it. Does not count.
  void addSample(const Frame& frame, Link link, std::uint8_t verdict, std::uint32_t every = 1);

  /// Commits the start of all tables, which the first batches of a flood touch. Page by page it would hold up the
  /// worker for milliseconds, and the buffers of a queue last for one.
  void commitMemory() const noexcept;

  /// Put these around every wait that may block: a worker that is neither idle nor counting holds up each fold.
  void enterIdle() noexcept;
  void leaveIdle() noexcept;

  [[nodiscard]] bool isWatched(const Address& address) const noexcept {
    return watchedHosts_->slotOf(address) != kNoSlot;
  }

 private:
  friend class ShardFoldSide;

  /// Where an address is counted. At most one of row and place is set; if neither is, it is foreign. It fits into a
  /// register, since it is returned for every packet.
  struct Located {
    std::uint32_t row = kNoRow;
    std::uint32_t place = kNoPlace;
    [[nodiscard]] bool isForeign() const noexcept { return row == kNoRow && place == kNoPlace; }
  };
  /// Keys of a packet or record on its way: its hash and the row that it probably has, for each direction.
  struct Keys {
    std::uint64_t hash[2];
    std::uint64_t flow;
    std::uint32_t candidate[2];
  };
  /// One packet of a batch.
  struct Pending : Keys {
    Packet packet;
    const Frame* frame;
  };
  /// A record, or a sampled packet, and how it counts.
  struct Weighing {
    const Packet& packet;
    const Keys& keys;
    Amount amount;
    std::uint32_t rate;
    /// 0: at once.
    std::uint32_t durationMs;
    bool isIncoming;
    bool isOutgoing;
    /// In the stats.
    std::uint64_t received;
  };
  using StatDelta = std::array<std::uint64_t, kStats>;

  void countBatch(std::span<const Frame> frames, Link link);
  std::size_t parseBatch(std::span<const Frame> frames, Link link, StatDelta& delta);
  ParseError chooseLayer(const Frame& frame, Link link, Packet& packet, ParseError error,
                         StatDelta& delta) const noexcept;
  void noteNotIp(const Frame& frame, Link link, StatDelta& delta) noexcept;
  [[nodiscard]] bool isOurs(const Packet& packet) const noexcept;
  void chooseOuter(FlowRecord& record, Encapsulations kinds) const noexcept;
  [[nodiscard]] bool mayBeOutgoing(const Frame& frame, Link link) const noexcept {
    return countsOutgoing_ && !externalSenders_.include(frame, link);
  }
  void countPending(const Pending& pending, Link link, StatDelta& delta);

  // shard_records.cpp
  void countSampled(const Pending& pending, Link link, StatDelta& delta);
  void countRecordBatch(std::span<const FlowRecord> records);
  void lookUp(std::span<const FlowRecord> records) noexcept;
  [[nodiscard]] bool isSpread(const FlowRecord& record) const noexcept { return record.durationMs > control_.windowMs; }
  void countRecord(const FlowRecord& record, const Keys& keys, StatDelta& delta);
  Amount amountOf(const FlowRecord& record, std::uint32_t rate) noexcept;
  /// If it becomes a sample, `describe()` sets what is known of it beside the frame, and `frame()` is called.
  template <typename Describe, typename MakeFrame>
  void countWeighed(const Weighing& weighing, StatDelta& delta, Describe&& describe, MakeFrame&& frame);
  void addWeighed(const Weighing& weighing, Direction direction, const Located& at, bool isNewFlow) noexcept;
  void release(const SpreadPool::Entry& entry, const Amount& amount) noexcept;
  void prefetchWide(std::size_t direction, std::uint32_t row) noexcept;
  void becomeWide() noexcept {
    if (!isWide_.load(std::memory_order_relaxed)) isWide_.store(true, std::memory_order_release);
  }

  void publish(const StatDelta& delta) noexcept;

  /// `packets` is the number of packets that the look-up stands for: the doorkeeper weighs it for a new host.
  Located locate(const Address& address, std::uint64_t hash, std::uint32_t candidate, std::uint32_t packets) noexcept;
  Located locateWithout(const Address& address, std::uint64_t hash, std::uint32_t packets) noexcept;
  Located found(std::uint32_t row) noexcept;
  bool touch(std::uint32_t row) noexcept;
  /// Whether the row that was located for the present packet has a flag; of most this is the only look.
  [[nodiscard]] bool isFlagged(const Located& located) noexcept {
    return located.row != kNoRow && rows_.hot(located.row).epoch != epoch_;
  }
  [[nodiscard]] bool isWatched(const Located& located) noexcept {
    return isFlagged(located) && (rows_.hot(located.row).epoch & HotRow::kWatched) != 0;
  }
  [[nodiscard]] bool isProfiled(const Located& located) noexcept {
    return isFlagged(located) && (rows_.hot(located.row).epoch & HotRow::kProfiled) != 0;
  }
  void keepForWatched(std::uint32_t slot, const Pending& pending, Link link) noexcept;
  void keepForWatched(std::uint32_t slot, const Frame& frame, Link link, std::uint8_t verdict = FILTER_VERDICTS,
                      std::uint64_t packets = 1) noexcept;
  /// The present packet's sample beside the frame; `slot` is that of its watched host, or kNoSlot.
  [[nodiscard]] Sample sampleWith(std::uint32_t slot, std::uint8_t verdict = FILTER_VERDICTS,
                                  std::uint64_t packets = 1) const noexcept;

  /// For a packet to a row with a flag. Not part of the way of all others.
  [[gnu::noinline]] void keepForFlagged(std::uint32_t row, const Pending& pending, Link link) noexcept;

  // shard_profiles.cpp
  [[gnu::noinline]] void considerProfile(std::uint32_t row) noexcept;
  /// A packet that was drawn for the profile of the row's host, for which it stands for `packets`.
  void keepForProfile(std::uint32_t row, const Frame& frame, Link link, std::uint64_t packets) noexcept;
  [[nodiscard]] std::uint32_t packetsOfRow(std::uint32_t row) noexcept;

  [[nodiscard]] auto hashOfRow() const noexcept {
    return [this](std::uint32_t row) { return control_.hash.of(rows_.addressOf(row)); };
  }
  std::uint32_t takeRow(const Address& address, std::uint64_t hash) noexcept;
  /// Takes the row out of the index.
  void unlinkRow(std::uint32_t row) noexcept;
  void linkFree(std::uint32_t row) noexcept;
  [[nodiscard]] bool isFolded(std::uint32_t epoch) const noexcept;
  [[nodiscard]] bool hasFreeRow() const noexcept { return rowsInUse() + leavingCount_ < rows_.size(); }
  void evict(std::uint32_t most) noexcept;
  void freeEvicted(std::uint32_t most) noexcept;

  void observe() noexcept;
  void adopt(std::uint32_t epoch) noexcept;
  void applyWatched(const WatchedHosts* watched) noexcept;
  void sweep(std::uint32_t most) noexcept;

  /// For the fold.
  [[nodiscard]] std::size_t residentBytes() const;

  // The members that the fold shares: it reads rows, takes what is handed over, and gives the rest.
  Handover handover_;
  HostRows rows_;
  Evictions evictions_;
  std::atomic<ShardView*> newView_{nullptr};
  std::atomic<const WatchedHosts*> newWatched_{nullptr};
  FlowFilter flows_;

  // The worker's own.
  /// 0 until the first leaveIdle().
  std::uint32_t epoch_ = 0;
  ShardView* view_ = nullptr;
  const Networks* networks_ = nullptr;
  /// The epoch in which the worker took them.
  std::uint32_t networksSince_ = 0;
  const WatchedHosts* watchedHosts_ = nullptr;

  Decapsulation wanted_;
  ExternalSenders externalSenders_;
  /// For frames and samples; each record says it itself.
  bool countsOutgoing_ = control_.countOutgoing;

  HostIndex index_;
  /// Rows below this have been used; those that are free again are linked through their keys.
  std::uint32_t usedRows_ = 0;
  std::uint32_t freeRow_ = kNoRow;
  /// Rows that were evicted, oldest first, until the fold has taken their last counts over.
  struct LeavingRow {
    std::uint32_t row;
    std::uint32_t epoch;
  };
  LazyArray<LeavingRow> leaving_;
  std::uint32_t leavingAt_ = 0;
  std::uint32_t leavingCount_ = 0;
  std::uint32_t sweepAt_ = 0;
  std::uint32_t sweepLeft_ = 0;

  Doorkeeper doorkeeper_;
  std::array<Sampler, kSampledOutcomes> samplers_;
  std::array<Sampler, kWatchedMax> watchedSamplers_;
  std::uint64_t serial_ = 0;

  std::uint32_t samplingRate_ = 1;
  SpreadPool spread_;
  /// The last epoch in which the worker released what was due.
  std::uint32_t releasedEpoch_ = 0;

  std::array<Pending, kBatch> pending_;
  std::array<Keys, kBatch> recordKeys_;
};

}  // namespace floodwall
