// The packet counter: settings, shards, folds and reads. It starts no thread and judges nothing, and the windows know
// only the time that the caller gives. Settings wait in NewSettings for the next fold, and reads take the lock of what
// they read; what only a fold has cannot be reached from here, see fold.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/guarded.h"
#include "count/columns.h"
#include "count/engine_options.h"
#include "count/fold.h"
#include "count/networks.h"
#include "count/shard.h"
#include "record_abi.h"

namespace floodwall {

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

/// fold() may run on one thread while another calls the rest; everything else is for one thread at a time.
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
  TickSummary fold(std::uint64_t nowNs) { return fold_.run(nowNs); }

  /// Rows of hosts that the last fold screened: watched hosts first (with zeros where nothing is known of a watched
  /// host that lies in the networks), then those that go beyond their screens the furthest. Returns how many there are;
  /// only the first min(capacity, kScreenedMax) are written.
  std::uint32_t readScreened(const HostColumns& out) const;
  /// Rows of hosts that rose since the last fold, to their screen or further beyond it, and are not watched. A host
  /// comes again only if it rose further. Rates are those that the next fold will find at least, if it comes in time.
  /// Not while a fold runs. Returns how many rows were written.
  std::uint32_t readRising(const HostColumns& out) { return fold_.readRising(out); }
  /// Hosts chunk by chunk, from cursor 0. A host that comes or goes between two chunks may be left out.
  HostChunk readHosts(std::int64_t cursor, const HostColumns& out) const;
  bool readHost(const Address& address, const HostColumns& out) const;
  /// The counts of the last fold for each watched host, after, for a host that is newly watched, those in the window
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
  /// The counts of hosts since they were last taken, chunk by chunk, from cursor 0, without hosts that had none. They
  /// start again from zero. A host that goes while the table is crowded takes its counts with it.
  HostChunk takeIntervals(std::int64_t cursor, const IntervalColumns& out);
  /// As takeIntervals() for one host, without taking; false if it had no packets.
  bool readInterval(const Address& address, const IntervalColumns& out) const;
  [[nodiscard]] EngineStats stats() const;

 private:
  /// They outlive the lock, so that no fold waits for who reads them.
  [[nodiscard]] std::vector<std::shared_ptr<const ShardReaderSide>> shards() const;

  const EngineOptions options_;
  Guarded<NewSettings> settings_;
  Fold fold_;
};

}  // namespace floodwall
