// The counts of one worker. One thread counts, the engine's fold takes the counts over without a lock and without
// stopping it. A shard knows packets and networks; it knows nothing of windows, thresholds or where frames come from.
// The comment of each member says which thread may use it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/address.h"
#include "count/address_hash.h"
#include "count/counters.h"
#include "count/doorkeeper.h"
#include "count/ether_type_table.h"
#include "count/evictions.h"
#include "count/external_senders.h"
#include "count/flow_filter.h"
#include "count/flow_record.h"
#include "count/handover.h"
#include "count/host_index.h"
#include "count/host_profiles.h"
#include "count/host_rows.h"
#include "count/networks.h"
#include "count/samples.h"
#include "count/spread_pool.h"
#include "count/watched_hosts.h"
#include "count/wide_rows.h"
#include "parse/frame.h"
#include "parse/not_ip_kind.h"
#include "parse/packet_parser.h"

namespace floodwall {

/// received = counted + untracked + foreign + the sum of parseErrors, whenever the worker is between two batches.
/// Frames as they arrive, also where they are a sample of the traffic; of flow records, the packets that they stand
/// for, in the moment in which the record came.
struct ShardStats {
  std::uint64_t receivedPackets = 0;
  std::uint64_t receivedBytes = 0;
  /// To or from a host that has a row.
  std::uint64_t countedPackets = 0;
  /// To or from a network, but its host has no row: counted to the network.
  std::uint64_t untrackedPackets = 0;
  /// No counted address lies in the networks. Sources are only looked at when outgoing traffic is counted.
  std::uint64_t foreignPackets = 0;
  std::array<std::uint64_t, kParseErrors> parseErrors{};
  /// Beside these outcomes: packets whose inside was not looked at, by what they carry. The inline counter estimates
  /// them from one packet in some hundreds.
  std::array<std::uint64_t, kEncapsulations> encapsulated{};
  /// What frames were that are not IP, as far as this shard read them: the inline counter does not distinguish them.
  std::array<std::uint64_t, kNotIpKinds> notIp{};
  /// The same by Ethernet type. What `notIp` has beyond these is of other types.
  EtherTypeCounts etherTypes{};
};

/// What became of flow records that could not be counted as they are.
struct RecordStats {
  /// With more packets, bytes, time or a higher sampling rate than there can be: counted as kRecordPacketsMax and so
  /// on.
  std::uint64_t clamped = 0;
  /// Longer than a window and counted at once, since there was no room to spread them.
  std::uint64_t unspread = 0;
  /// Entries that are being spread: the records of a host, a direction and a kind are one.
  std::uint64_t spreading = 0;
};
/// Of one record, after it is multiplied; a lying exporter must not overflow sums.
inline constexpr std::uint64_t kRecordPacketsMax = std::uint64_t{1} << 40, kRecordBytesMax = std::uint64_t{1} << 50;
inline constexpr std::uint32_t kSamplingRateMax = 1U << 24;
/// Of a source of frames.
inline constexpr std::uint32_t kFrameSamplingRateMax = 1'000'000;
/// The longest time over which a record is spread: of a flow that is reported when it ends, as long as that.
inline constexpr std::uint32_t kRecordMsMax = 86'400'000;

/// What all shards of an engine share. The fold and the setters write, the workers read.
struct Control {
  std::uint32_t maxHosts = 0;
  bool countOutgoing = false;
  /// A row that was not touched for this number of epochs is freed.
  std::uint32_t idleEpochs = 0;
  std::uint32_t epochsPerSecond = 0;
  /// Flow records that lasted longer are spread; and how many epochs there are in it.
  std::uint32_t windowMs = 0;
  std::uint32_t epochsPerWindow = 0;
  AddressHash hash;
  const std::shared_ptr<ProfileControl> profiles = std::make_shared<ProfileControl>();
  alignas(64) std::atomic<std::uint32_t> epoch{1};
  std::atomic<std::uint32_t> trackedHosts{0};
  /// Some hosts may reach their screen before the next fold: what is counted is looked at sooner.
  std::atomic<bool> hasRising{false};
  /// When the last fold began, ms of the monotonic clock.
  std::atomic<std::uint64_t> foldedMs{0};
};

/// The networks as one shard uses them, with the counters of packets that have no row, by place. Made by the fold for
/// each shard; a worker takes a new one when it adopts an epoch.
struct ShardView {
  ShardView(std::shared_ptr<const Networks> of, bool countOutgoing)
      : networks(std::move(of)),
        untracked{LazyArray<Counters>(networks->places().size()),
                  LazyArray<Counters>(countOutgoing ? networks->places().size() : 0)},
        untrackedWide{LazyArray<WideRow>(networks->places().size()),
                      LazyArray<WideRow>(countOutgoing ? networks->places().size() : 0)} {}

  void count(Direction direction, std::uint32_t place, const Packet& packet, bool isNewFlow) const noexcept {
    countPacket(untracked[static_cast<std::size_t>(direction)][place], packet, isNewFlow);
    noteWrite();
  }
  void add(Direction direction, std::uint32_t place, const Counters& delta) const noexcept {
    addCounters(untracked[static_cast<std::size_t>(direction)][place], delta);
    noteWrite();
  }
  void count(Direction direction, std::uint32_t place, const Kind& kind, const Amount& amount) const noexcept {
    untrackedWide[static_cast<std::size_t>(direction)][place].count(kind, amount);
    noteWrite();
  }

  std::shared_ptr<const Networks> networks;
  /// By direction. Written by the worker, read by the fold as it reads rows.
  std::array<LazyArray<Counters>, 2> untracked;
  std::array<LazyArray<WideRow>, 2> untrackedWide;
  /// Grows with every write, so that the fold need not look through counters that stand still.
  mutable std::atomic<std::uint32_t> writes{0};

 private:
  void noteWrite() const noexcept {
    writes.store(writes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

/// Of each outcome, so that a flood that is dropped takes no room of what passes.
inline constexpr std::uint32_t kRecentSamples = 4096;
inline constexpr std::uint32_t kSampledOutcomes = 3;
static_assert(FILTER_PASSED < kSampledOutcomes && FILTER_DROPPED < kSampledOutcomes &&
              FILTER_ANSWERED < kSampledOutcomes);
inline constexpr std::uint32_t kWatchedSamples = 128;

/// Made by Engine::addShard. One thread at a time is its worker, and only the worker may call what is not const.
class Shard {
 public:
  explicit Shard(std::shared_ptr<const Control> control);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Sets which encapsulations are removed. Call before the first frame.
  void setDecapsulation(Encapsulations kinds, VxlanPorts ports = {}) noexcept {
    wanted_ = {.kinds = kinds, .vxlanPorts = ports};
  }
  [[nodiscard]] Encapsulations decapsulation() const noexcept { return wanted_.kinds; }
  /// Counts any number of frames; does not keep them. Not while idle. A packet out of a tunnel counts if it goes to the
  /// networks, or comes from them where that is counted; else the packet around it does.
  void countFrames(std::span<const Frame> frames, Link link);
  /// Of frames, from the next one on: one in this number was copied to us, and each counts as that number. 1 at first,
  /// at most kFrameSamplingRateMax. Before the worker begins.
  void setSamplingRate(std::uint32_t rate) noexcept { samplingRate_ = rate; }
  /// Of frames: what these send was not sent by a host of ours, whatever source it names. Before the worker begins.
  void setExternalSenders(ExternalSenders senders) {
    externalSenders_ = std::move(senders);
    countsOutgoing_ = control_.countOutgoing && !externalSenders_.areAll;
  }
  /// Counts any number of records, each as `packets` and `bytes` times its sampling rate (where that is 0, once); does
  /// not keep them. A record longer than the window is counted over the time that it lasted, from now on: call
  /// releaseDue(). A record that counts in no direction is not received at all. Not while idle.
  void countRecords(std::span<const FlowRecord> records);
  /// Of sampled packets that were taken out of `kinds`, before they are counted: where the innermost one is in no
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
  /// Keeps a header that the kernel chose as a sample; `verdict` is a filter_verdict, FILTER_VERDICTS if nothing judged
  /// it. Does not count.
  void addSample(const Frame& frame, Link link, std::uint8_t verdict);

  /// Commits the start of all tables, which the first batches of a flood touch. Page by page it would hold up the
  /// worker for milliseconds, and the buffers of a queue last for one.
  void commitMemory() const noexcept;

  /// Put these around every wait that may block: a worker that is neither idle nor counting holds up each fold.
  void enterIdle() noexcept;
  void leaveIdle() noexcept;

  [[nodiscard]] bool isWatched(const Address& address) const noexcept {
    return watchedHosts_->slotOf(address) != kNoSlot;
  }

  // Any thread.
  [[nodiscard]] ShardStats stats() const noexcept;
  [[nodiscard]] std::uint64_t refusedHosts() const noexcept { return refusedHosts_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t evictedRows() const noexcept { return evictedRows_.load(std::memory_order_relaxed); }
  [[nodiscard]] RecordStats recordStats() const noexcept;
  /// Whether it ever counted what stands for more than itself; until then there is nothing in the wide rows.
  [[nodiscard]] bool isWide() const noexcept { return isWide_.load(std::memory_order_acquire); }
  /// Rows that packets find.
  [[nodiscard]] std::uint32_t rowsInUse() const noexcept { return rowsInUse_.load(std::memory_order_relaxed); }
  /// What the folds say to those who read counts elsewhere and add them: see ReadingPace.
  [[nodiscard]] bool hasRising() const noexcept { return control_.hasRising.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t foldedMs() const noexcept { return control_.foldedMs.load(std::memory_order_relaxed); }
  /// A ring for each of the first kSampledOutcomes of filter_outcome; what nothing judged is in that of what passed.
  [[nodiscard]] const SampleRings& recentSamples() const noexcept { return recent_; }
  [[nodiscard]] const SampleRings& watchedSamples() const noexcept { return watchedRings_; }
  [[nodiscard]] const HostProfiles& profiles() const noexcept { return profiles_; }
  [[nodiscard]] std::size_t residentBytes() const;

  // The fold's.
  void prepareGrowth() noexcept { flows_.prepareGrowth(); }
  Handover handover;
  HostRows rows;
  Evictions evictions;
  std::atomic<const ShardView*> view{nullptr};
  std::atomic<const WatchedHosts*> watched{nullptr};

 private:
  /// Where an address is counted. At most one of row and place is set; if neither is, it is foreign. It fits into a
  /// register, since it is returned for every packet.
  struct Located {
    std::uint32_t row = kNoRow;
    std::uint32_t place = kNoPlace;
    [[nodiscard]] bool isForeign() const noexcept { return row == kNoRow && place == kNoPlace; }
  };
  /// Of a packet or record on its way: its hash and the row that it probably has, for each direction.
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
  /// Counters of the stats; this thread alone writes them.
  enum Stat : std::uint8_t { kReceivedPackets, kReceivedBytes, kCounted, kUntracked, kForeign, kErrors };
  static constexpr std::size_t kEncapsulated = kErrors + kParseErrors;
  static constexpr std::size_t kNotIp = kEncapsulated + kEncapsulations;
  static constexpr std::size_t kStats = kNotIp + kNotIpKinds;
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
  void prefetchWide(std::size_t direction, std::uint32_t row) const noexcept;
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
  [[nodiscard]] bool isFlagged(const Located& located) const noexcept {
    return located.row != kNoRow && rows.hot[located.row].epoch != epoch_;
  }
  [[nodiscard]] bool isWatched(const Located& located) const noexcept {
    return isFlagged(located) && (rows.hot[located.row].epoch & HotRow::kWatched) != 0;
  }
  [[nodiscard]] bool isProfiled(const Located& located) const noexcept {
    return isFlagged(located) && (rows.hot[located.row].epoch & HotRow::kProfiled) != 0;
  }
  void keepForWatched(std::uint32_t slot, const Pending& pending, Link link) noexcept;
  void keepForWatched(std::uint32_t slot, const Frame& frame, Link link,
                      std::uint8_t verdict = FILTER_VERDICTS) noexcept;
  /// What the present packet's sample says beside the frame; `slot` is that of its watched host, or kNoSlot.
  [[nodiscard]] Sample sampleWith(std::uint32_t slot, std::uint8_t verdict = FILTER_VERDICTS,
                                  std::uint64_t packets = 1) const noexcept;

  /// For a packet to a row with a flag. Not part of the way of all others.
  [[gnu::noinline]] void keepForFlagged(std::uint32_t row, const Pending& pending, Link link) noexcept;

  // shard_profiles.cpp
  [[gnu::noinline]] void considerProfile(std::uint32_t row) noexcept;
  /// A packet that was drawn for the profile of the row's host, for which it stands for `packets`.
  void keepForProfile(std::uint32_t row, const Frame& frame, Link link, std::uint64_t packets) noexcept;
  [[nodiscard]] std::uint32_t packetsOfRow(std::uint32_t row) const noexcept;

  [[nodiscard]] auto hashOfRow() const noexcept {
    return [this](std::uint32_t row) { return control_.hash.of(rows.hot[row].key); };
  }
  std::uint32_t takeRow(const Address& address, std::uint64_t hash) noexcept;
  /// Takes the row out of the index.
  void unlinkRow(std::uint32_t row) noexcept;
  void linkFree(std::uint32_t row) noexcept;
  [[nodiscard]] bool isFolded(std::uint32_t epoch) const noexcept;
  [[nodiscard]] bool hasFreeRow() const noexcept { return rowsInUse() + leavingCount_ < rows.hot.size(); }
  void evict(std::uint32_t most) noexcept;
  void freeEvicted(std::uint32_t most) noexcept;

  void observe() noexcept;
  void adopt(std::uint32_t epoch) noexcept;
  void applyWatched(const WatchedHosts* watched) noexcept;
  void sweep(std::uint32_t most) noexcept;

  const std::shared_ptr<const Control> shared_;
  const Control& control_;
  /// 0 until the first leaveIdle().
  std::uint32_t epoch_ = 0;
  const ShardView* view_ = nullptr;
  const Networks* networks_ = nullptr;
  /// The epoch in which the worker took them.
  std::uint32_t networksSince_ = 0;
  const WatchedHosts* watchedHosts_ = nullptr;

  Decapsulation wanted_;
  ExternalSenders externalSenders_;
  /// Of frames and samples; of records each one says it.
  bool countsOutgoing_ = control_.countOutgoing;
  EtherTypeTable etherTypes_;

  HostIndex index_;
  /// Rows below this have been used; those that are free again are linked through their keys.
  std::uint32_t usedRows_ = 0;
  std::uint32_t freeRow_ = kNoRow;
  std::atomic<std::uint32_t> rowsInUse_{0};
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

  FlowFilter flows_;
  Doorkeeper doorkeeper_;
  std::array<Sampler, kSampledOutcomes> samplers_;
  std::array<Sampler, kWatchedMax> watchedSamplers_;
  SampleRings recent_;
  SampleRings watchedRings_;
  HostProfiles profiles_;
  std::uint64_t serial_ = 0;

  std::uint32_t samplingRate_ = 1;
  std::atomic<bool> isWide_{false};
  SpreadPool spread_;
  /// The last epoch in which the worker released what was due.
  std::uint32_t releasedEpoch_ = 0;
  std::atomic<std::uint64_t> clampedRecords_{0}, unspreadRecords_{0}, spreadingRecords_{0};

  std::array<Pending, kBatch> pending_;
  std::array<Keys, kBatch> recordKeys_;
  std::array<std::atomic<std::uint64_t>, kStats> stats_{};
  std::atomic<std::uint64_t> refusedHosts_{0};
  std::atomic<std::uint64_t> evictedRows_{0};
};

}  // namespace floodwall
