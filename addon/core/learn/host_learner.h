// Goes through rows of hosts: learns normal rates from those that have traffic and are not attacked, and sums the hosts
// of each prefix. Settings hold from the next rows on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fair_lock.h"
#include "count/engine.h"
#include "learn/baselines.h"
#include "learn/prefix_sums.h"

namespace floodwall {

/// Hosts whose traffic is not normal, and why; built again for each change.
class SparedHosts {
 public:
  static constexpr std::uint8_t kAttackedIn = 1, kAttackedOut = 2, kBanned = 4;

  /// 16 bytes an address. `lengths` are those of the banned prefixes, in the 128-bit form.
  SparedHosts(std::span<const std::uint8_t> attackedIn, std::span<const std::uint8_t> attackedOut,
              std::span<const std::uint8_t> banned, std::span<const std::uint8_t> lengths);
  SparedHosts() : SparedHosts({}, {}, {}, {}) {}

  [[nodiscard]] std::uint8_t of(const Address& address) const noexcept;

 private:
  struct Host {
    Address address;
    std::uint8_t why;
  };
  struct Prefix {
    Address address;
    std::uint8_t length;
  };
  void add(std::span<const std::uint8_t> addresses, std::uint8_t why);
  void add(const Address& address, std::uint8_t why);

  AddressHash hash_;
  HostIndex index_;
  std::vector<Host> hosts_;
  std::vector<Prefix> prefixes_;
};

struct LearningPass {
  LearningMoment moment;
  HourMoment hour;
  /// Rows without traffic since then may lose their hours of the week.
  std::uint32_t idleSeconds = 0;
  /// Hosts without packets for this long are silent.
  double windowMs = 0;
};

/// learnHosts() may run on one thread while another calls the rest: that waits for some hundred rows at most.
class HostLearner {
 public:
  HostLearner(std::uint32_t capacity, std::uint32_t directions);

  void setGroups(std::vector<LearnedGroup> groups);
  void beginPass(const LearningPass& pass);
  void setSpared(std::shared_ptr<const SparedHosts> spared);

  /// The first `count` rows. `sums` may be null: prefixes are not summed.
  void learnRows(const HostColumns& rows, std::size_t count, GuardedSums* sums);
  /// Some ten thousand of the engine's hosts, from a cursor of Engine::readHosts() on. Returns where to go on; -1 at
  /// the end. Only one call at a time: throws std::logic_error.
  std::int64_t learnHosts(const Engine& engine, std::int64_t cursor, GuardedSums* sums);
  /// One host or whole hostgroup; no effect where its group is not learned.
  void learn(const Address& key, std::uint32_t group, std::uint32_t side, const double* rates,
             const LearningMoment& moment);

  /// See Baselines.
  void read(std::span<const std::uint8_t> keys, std::span<const std::uint32_t> groups, std::span<double> out) const;

  [[nodiscard]] std::uint32_t directions() const noexcept { return baselines_.table().directions(); }
  /// Calls `use` with the table, which no other thread uses meanwhile.
  template <typename Use>
  auto withTable(Use&& use) {
    const std::scoped_lock held(lock_);
    return use(baselines_.table());
  }

 private:
  /// Rows that are read and learned at once.
  static constexpr std::size_t kChunkRows = 256;
  /// Rows of one call: a few milliseconds.
  static constexpr std::size_t kSliceRows = 32'768;

  /// Room for rows that are read of an engine.
  struct Rows {
    std::vector<std::uint8_t> addresses;
    std::vector<std::uint32_t> groups, networks;
    std::vector<double> idleMs, incoming, outgoing, weights;

    Rows();
    [[nodiscard]] HostColumns columns() noexcept {
      return {addresses, groups, networks, idleMs, incoming, outgoing, weights};
    }
  };

  void learnChunk(const HostColumns& rows, std::size_t first, std::size_t count, PrefixSums* sums);
  void learnRow(const HostColumns& rows, std::size_t row, const Address& address, std::uint64_t hash, PrefixSums* sums);

  std::atomic<bool> isLearning_ = false;
  mutable FairLock lock_;
  Baselines baselines_;
  std::shared_ptr<const SparedHosts> spared_ = std::make_shared<const SparedHosts>();
  LearningPass pass_;
  Rows rows_;
};

}  // namespace floodwall
