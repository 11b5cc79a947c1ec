// All that is known of hosts: takes the shards' counts over at each tick, keeps sliding windows, and answers reads.
// It starts no thread and judges nothing, and the windows know only the time that the caller gives. engine.cpp takes
// the settings, fold.cpp folds, screening.cpp finds what is handed over, rising.cpp what happens until the next fold,
// watched_counts.cpp
// keeps the counts of watched hosts tick by tick, light_hosts.cpp makes room in full tables, engine_reads.cpp answers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/fair_lock.h"
#include "base/lazy_array.h"
#include "count/bucket_clock.h"
#include "count/counters.h"
#include "count/host_table.h"
#include "count/intervals.h"
#include "count/networks.h"
#include "count/recent_hosts.h"
#include "count/rising.h"
#include "count/sampling_errors.h"
#include "count/screens.h"
#include "count/shard.h"
#include "count/shard_ledger.h"
#include "count/watched_hosts.h"
#include "count/window_sums.h"
#include "record_abi.h"

namespace floodwall {

struct EngineOptions {
  /// Hosts tracked at most, and rows that each shard has at most: 1 to kHostsMax.
  std::uint32_t maxHosts = 1U << 20;
  /// kWindowMsMin to kWindowMsMax.
  std::uint32_t windowMs = 1000;
  /// kTickMsMin to kTickMsMax; divides windowMs.
  std::uint32_t tickMs = 100;
  bool countOutgoing = false;
  /// A host without packets for this long leaves; at least the window, at most kIdleMsMax.
  std::uint32_t idleMs = 60'000;
  /// Of hashes; 0: at random, as it must be where senders could choose addresses that collide.
  std::uint64_t hashSeed = 0;
};
inline constexpr std::uint32_t kHostsMax = 16'000'000;
inline constexpr std::uint32_t kWindowMsMin = 200, kWindowMsMax = 60'000;
inline constexpr std::uint32_t kTickMsMin = 20, kTickMsMax = 1'000;
inline constexpr std::uint32_t kIdleMsMax = 3'600'000;
/// Rows that readScreened has at most.
inline constexpr std::uint32_t kScreenedMax = 8192;

/// Columns of host rows, owned by the caller; groups.size() rows fit. The shapes of HostRows in native.d.ts.
struct HostColumns {
  std::span<std::uint8_t> addresses;
  std::span<std::uint32_t> groups;
  std::span<std::uint32_t> networks;
  std::span<double> idleMs;
  std::span<double> incoming;
  std::span<double> outgoing;
  /// kWeights a row: incoming packets and bytes, outgoing packets and bytes; see Weights. Without sampling zeros.
  std::span<double> weights;
};

/// The hosts that the last fold handed over, in columns as they are read. Memory follows what is written.
class ScreenedRows {
 public:
  [[nodiscard]] HostColumns columns() const noexcept {
    return {.addresses = of(addresses_),
            .groups = of(groups_),
            .networks = of(networks_),
            .idleMs = of(idleMs_),
            .incoming = of(incoming_),
            .outgoing = of(outgoing_),
            .weights = of(weights_)};
  }
  [[nodiscard]] std::size_t residentBytes() const {
    return addresses_.residentBytes() + groups_.residentBytes() + networks_.residentBytes() + idleMs_.residentBytes() +
           incoming_.residentBytes() + outgoing_.residentBytes() + weights_.residentBytes();
  }

 private:
  template <typename T>
  static std::span<T> of(const LazyArray<T>& column) noexcept {
    return {column.data(), column.size()};
  }

  LazyArray<std::uint8_t> addresses_{kScreenedMax * sizeof(Address), Pages::small};
  LazyArray<std::uint32_t> groups_{kScreenedMax, Pages::small}, networks_{kScreenedMax, Pages::small};
  LazyArray<double> idleMs_{kScreenedMax, Pages::small};
  LazyArray<double> incoming_{kScreenedMax * kMetrics, Pages::small};
  LazyArray<double> outgoing_{kScreenedMax * kMetrics, Pages::small};
  LazyArray<double> weights_{kScreenedMax * kWeights, Pages::small};
};

/// Columns of rows of intervals; groups.size() rows fit. The shapes of IntervalRows in native.d.ts.
struct IntervalColumns {
  std::span<std::uint8_t> addresses;
  std::span<std::uint32_t> groups;
  /// kIntervalValues a row.
  std::span<double> incoming;
  std::span<double> outgoing;
};

/// Columns of counts, owned by the caller; agesMs.size() rows fit. The shapes of CountRows in native.d.ts.
struct CountColumns {
  std::span<std::uint8_t> addresses;
  std::span<double> agesMs;
  std::span<double> spansMs;
  std::span<std::uint8_t> isBefore;
  std::span<double> incoming;
  std::span<double> outgoing;
  /// As in HostColumns.
  std::span<double> weights;
};

struct TickSummary {
  std::uint32_t trackedHosts = 0;
  std::uint32_t screened = 0;
  std::uint32_t foldMicros = 0;
  std::uint32_t foldedRows = 0;
  /// Hosts that may reach their screen before the next fold: readRising() is worth a look until then.
  std::uint32_t rising = 0;
};

struct EngineStats {
  std::uint32_t trackedHosts = 0;
  /// About how many addresses were turned away: the doorkeeper counts one when it sees it first.
  std::uint64_t refusedHosts = 0;
  /// By network identifier, since these networks were set.
  std::vector<std::uint64_t> untrackedPackets;
  /// Times that counts found no room in the window's journal: they are in the sums, and leave them a bucket late.
  std::uint64_t deferredRows = 0;
  std::uint64_t memoryBytes = 0;
  /// Hosts that were replaced by heavier ones in the full table, and rows that shards took from light hosts for others.
  std::uint64_t replacedHosts = 0;
  std::uint64_t evictedRows = 0;
};

struct HostChunk {
  /// Where to go on; -1 at the end.
  std::int64_t next = -1;
  std::uint32_t count = 0;
};

/// fold() may run on one thread while another calls the rest; everything else is for one thread at a time. Reads wait
/// for a fold a millisecond at most; while one runs, a host's rates may lack the bucket that is being folded.
class Engine {
 public:
  /// Throws std::out_of_range that names the option.
  explicit Engine(const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A shard for one worker, idle at first. Dropping the last handle ends it; the next fold takes its counts over. All
  /// handles must be dropped before the engine is.
  [[nodiscard]] std::shared_ptr<Shard> addShard();

  /// Throws std::invalid_argument on columns that do not fit together. Takes effect at once while there is no shard,
  /// else with the next fold; counts of packets without a row start from zero. Groups keep their screens by number.
  void setNetworks(const NetworksColumns& networks);
  /// 26 values a group: 13 incoming, then 13 outgoing; infinity is off. Groups beyond the last are off.
  void setScreens(std::span<const double> screens);
  /// 16 bytes a host, at most kWatchedMax; throws std::invalid_argument over it.
  void setWatched(std::span<const std::uint8_t> addresses);

  /// Takes the shards' counts over into the windows. `nowNs` never goes back. Waits a few milliseconds at most for
  /// workers that are busy; what they have not handed over by then is taken by the next fold.
  TickSummary fold(std::uint64_t nowNs);

  /// Rows of hosts that the last fold screened: watched hosts first (with zeros where nothing is known of a watched
  /// host that lies in the networks), then those that go beyond their screens the furthest. Returns how many there are;
  /// only the first min(capacity, kScreenedMax) are written.
  std::uint32_t readScreened(const HostColumns& out) const;
  /// Rows of hosts that rose since the last fold, to their screen or further beyond it, and are not watched. A host
  /// comes again only if it rose further. Rates are those that the next fold will find at least, if it comes in time.
  /// Not while a fold runs. Returns how many rows were written.
  std::uint32_t readRising(const HostColumns& out);
  /// Hosts chunk by chunk, from cursor 0. A host that comes or goes between two chunks may be left out.
  HostChunk readHosts(std::int64_t cursor, const HostColumns& out) const;
  bool readHost(const Address& address, const HostColumns& out) const;
  /// What the last fold found of each watched host, after, for a host that is newly watched, what was in the window
  /// before. Writes the rows from `first` on that fit. Returns how many rows there are in all.
  std::uint32_t readCounts(std::uint32_t first, const CountColumns& out) const;
  /// Sums by group; row i is group i. Returns how many groups there are.
  std::uint32_t readGroups(const HostColumns& out) const;
  /// Fills `out` with sample_records of all hosts that agree with the address in its first `length` bits, newest last.
  /// Returns how many were written.
  std::uint32_t readSamples(const Address& address, std::span<std::uint8_t> out, std::uint32_t length = 128) const;
  /// The same for each of the places, in their order one after another, of each at most `each`; `counts` says how many
  /// of each place there are. Returns how many were written in all. May run on another thread than the rest.
  std::uint32_t readSamplesOf(std::span<const sample_place> places, std::span<std::uint8_t> out,
                              std::span<std::uint32_t> counts, std::uint32_t each) const;
  /// How long after its first packet an attack is found at most, ms: younger packets are not part of a host's profile.
  void setProfileDelay(std::uint32_t ms);
  /// Fills `out` with what the host received before it was attacked, as far as it fits; shares are those of all of its
  /// packets. Returns how many were written.
  std::uint32_t readProfile(const Address& address, std::span<profile_record> out) const;
  /// Profiles of hosts chunk by chunk, from cursor 0; a host of several workers has several.
  HostChunk readProfiles(std::int64_t cursor, std::span<profile_row> out) const;
  /// From the next fold on, keeps what takeIntervals() gives: 24 bytes a host and direction, 36 of sampled traffic.
  void keepIntervals();
  /// What hosts had since they were last taken, chunk by chunk, from cursor 0; hosts without packets are left out. What
  /// is taken starts again from zero. A host that goes while the table is crowded takes its counts with it.
  HostChunk takeIntervals(std::int64_t cursor, const IntervalColumns& out);
  /// As takeIntervals() for one host, without taking; false if it had no packets.
  bool readInterval(const Address& address, const IntervalColumns& out) const;
  [[nodiscard]] EngineStats stats() const;

 private:
  // fold.cpp, in the order in which a fold goes through them.
  void takeSettings(std::uint64_t nowNs);
  void takeNetworks(std::shared_ptr<const Networks> networks);
  void keepErrors();
  void leaveBuckets(std::uint64_t nowNs);
  void awaitShards(std::uint32_t epoch);
  void foldShard(ShardLedger& ledger, std::uint32_t epoch);
  void prefetchHost(const ShardLedger& ledger, std::uint32_t row) const noexcept;
  void foldRow(ShardLedger& ledger, std::uint32_t row);
  std::uint32_t hostOfRow(const ShardLedger& ledger, std::uint32_t row, const std::array<Totals, 2>& totals);
  std::uint32_t untrackedHost(std::uint32_t place);
  void addUntracked(std::uint32_t place, Direction direction, const Weighed& delta);
  void addToHost(std::uint32_t host, Direction direction, const Weighed& delta);
  void noteHighest(std::uint32_t host, Direction direction, const Totals& delta) const noexcept;
  void touch(std::uint32_t host);
  void dropClosedShards();
  void sweepHosts();
  void sweepHost(std::uint32_t host);

  // light_hosts.cpp
  void beginReplacing() noexcept;
  bool replaceLighter(std::uint64_t size) noexcept;
  [[nodiscard]] std::uint64_t sizeOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] bool isReplaceable(std::uint32_t host) const noexcept;
  [[nodiscard]] std::uint32_t nextLightHost() noexcept;
  void evictRows(ShardLedger& ledger);
  void evictLightest(ShardLedger& ledger);

  // watched_counts.cpp
  void takeWatched(const WatchedHosts& before, std::uint64_t nowNs);
  void gatherPast(std::vector<std::uint32_t> hosts, std::uint64_t nowNs);
  void countWatched(const Address& address, const ShardLedger::RowDelta& delta);
  void handOverCounts(double spanMs);
  struct CountRow {
    Address address;
    /// From the end of its span to the fold.
    double ageMs;
    double spanMs;
    /// The sum of a whole window that ended before the present one began.
    bool isBefore;
    std::array<Totals, 2> totals;
    RowWeights weights;
  };

  // screening.cpp
  void screenHosts();
  [[nodiscard]] bool mayReach(std::uint32_t host, double shareOfScreen) const noexcept;
  struct Candidate {
    std::uint32_t host;
    double excess;
  };
  void gatherReached(std::uint32_t host, std::vector<Candidate>& reached) const;
  void handOver(std::vector<Candidate> reached);
  void handOverWatched(const Address& address, const HostColumns& rows);
  [[nodiscard]] ScreenedHost screenedHost(std::uint32_t host) const noexcept;

  // rising.cpp
  void beginRising();
  void noteRising(const ShardLedger& ledger, std::uint32_t row, std::uint32_t host, const ShardLedger::RowDelta& delta);
  void chooseRising();
  void takeStaying();
  [[nodiscard]] HostRates ratesOfTotals(const std::array<Totals, 2>& totals) const noexcept;

  [[nodiscard]] std::vector<std::shared_ptr<Shard>> shards() const;
  [[nodiscard]] HostRates ratesOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] RowWeights weightsOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] double idleMsOf(std::uint32_t host) const noexcept;
  [[nodiscard]] std::uint32_t nowMs() const noexcept;
  void writeHost(std::uint32_t host, const HostColumns& out, std::size_t row) const noexcept;
  void writeInterval(std::uint32_t host, const IntervalColumns& out, std::size_t row) const noexcept;
  void writeRow(const ScreenedHost& host, const HostColumns& out, std::size_t row) const noexcept;

  const EngineOptions options_;
  std::shared_ptr<Control> control_;

  /// What was set since the last fold. Held for moments only.
  mutable std::mutex settingsLock_;
  std::shared_ptr<const Networks> newNetworks_;
  std::shared_ptr<const WatchedHosts> newWatched_;
  std::shared_ptr<const Screens> newScreens_;
  std::unique_ptr<const Intervals> newIntervals_;
  std::vector<std::unique_ptr<ShardLedger>> newLedgers_;

  /// What follows is written by the fold alone, in pieces, under this lock; the fold itself reads it without.
  mutable FairLock lock_;
  std::shared_ptr<const Networks> networks_;
  std::shared_ptr<const Screens> screens_;
  std::vector<std::unique_ptr<ShardLedger>> ledgers_;
  HostTable hosts_;
  BucketClock clock_;
  WindowSums sums_;
  /// null: they are not taken.
  std::unique_ptr<const Intervals> intervals_;
  /// null: nothing was ever sampled.
  std::unique_ptr<SamplingErrors> errors_;
  SamplingError::Time errorTime_{};
  std::array<std::vector<SamplingError>, 2> groupErrors_;
  /// By group, by direction: always the sum over the group's hosts, replaced ones, and untracked packets.
  std::array<std::vector<Totals>, 2> groupSums_;
  /// By place: the number that stands for its untracked packets, or HostTable::kNone.
  std::vector<std::uint32_t> untrackedHosts_;
  std::vector<std::uint64_t> untrackedByNetwork_;
  std::uint64_t nowNs_ = 0;
  std::uint64_t refusedHosts_ = 0;
  std::uint64_t replacedHosts_ = 0;
  /// Of shards that are gone.
  std::uint64_t evictedRows_ = 0;

  /// The fold's own.
  std::shared_ptr<const WatchedHosts> watched_;
  /// By slot: what this fold found; and what was in the window before, of hosts that are newly watched.
  std::vector<std::array<Totals, 2>> watchedTotals_;
  std::vector<std::array<Variance, 2>> watchedVariances_;
  std::vector<CountRow> pastCounts_;
  /// Hosts that may be replaced in one fold at most, and in the present one.
  std::uint32_t replacedMax_;
  std::uint32_t replacedLeft_ = 0;
  /// The host that is replaced next, or HostTable::kNone; and where the search for it goes on.
  std::uint32_t lightHost_ = HostTable::kNone;
  std::uint32_t lightAt_ = 0;
  RecentHosts recent_;
  std::uint32_t foldNumber_ = 0;
  std::uint32_t foldedRows_ = 0;
  std::uint32_t sweepAt_ = 0;
  bool screensAll_ = false;
  /// Hosts with packets in this fold whose sums may reach a screen.
  std::vector<std::uint32_t> listed_;
  std::vector<std::uint32_t> screenedBefore_;

  /// Those of the last fold, by number; between folds readRising() has them.
  std::vector<RisingRow> risingRows_;
  std::vector<RisingHost> rising_;
  /// Of each of them, by direction: what is in the window and will be in it at the next fold.
  std::vector<std::array<Totals, 2>> staying_;
  double risingScale_ = 0;
  /// By direction: with fewer packets, bytes and new flows in all of a tick, no row is one of them.
  struct FewCounts {
    std::uint64_t packets, bytes, newFlows;
    [[nodiscard]] bool hold(const Totals& totals) const noexcept {
      return totals.packets() < packets && totals.bytes() < bytes && totals.counts[Totals::kNewFlows] < newFlows;
    }
  };
  std::array<FewCounts, 2> risingFew_{};

  mutable std::mutex screenedLock_;
  ScreenedRows screened_;
  /// How many of them were written, and how many there are.
  std::uint32_t screenedRows_ = 0;
  std::uint32_t screenedCount_ = 0;
  /// Also under screenedLock_.
  std::vector<CountRow> counts_;
};

}  // namespace floodwall
