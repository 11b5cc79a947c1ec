// A few packets that each host received before it was attacked. One worker writes, others read. Bounded: hosts that
// have not been seen for long make room. Knows hosts by their addresses and rows by their numbers, nothing of attacks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/host_rows.h"
#include "parse/header_summary.h"
#include "record_abi.h"

namespace floodwall {

/// Profiles of all workers together, at 2 kB each: 64 MB. A worker that finds all of them taken has a few of its own,
/// so that one that begins late is not without.
inline constexpr std::uint32_t kProfiledHostsMax = 32'768, kProfiledHostsOwn = 1'024;
inline constexpr std::uint32_t kProfilePackets = PROFILE_PACKETS;
/// Packets that are too recent to decide whether they were the first of an attack.
inline constexpr std::uint32_t kProfileYoung = 16;

/// The state that the profiles of all workers share.
struct ProfileControl {
  /// A packet is kept for good once it is so old and its host is not watched: an attack that began with it would have
  /// been found.
  std::atomic<std::uint32_t> delayEpochs{15};
  std::atomic<std::uint32_t> hosts{0};
};

/// One host's. Its packets are in slots of words that readers copy under `version`.
struct alignas(64) HostProfile {
  static constexpr std::size_t kWords = sizeof(profile_record) / 8;
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;

  /// Odd while it is written.
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> settled;
  std::array<std::atomic<std::uint64_t>, 2> key;
  // The worker's alone.
  /// When it began, and what the row had counted then.
  std::uint32_t bornEpoch;
  std::uint32_t bornPackets;
  std::uint32_t dueEpoch;
  /// The row whose packets are counted since the last one was taken, or kNone: counting begins again.
  std::uint32_t row;
  std::uint32_t young;
  std::uint32_t packetsBefore;
  /// It was full once. Until then it takes all packets that are drawn, which therefore stand for the same number each.
  bool isGrown;

  std::array<Slot, kProfilePackets> packets;
  std::array<Slot, kProfileYoung> youngPackets;
  std::array<std::atomic<std::uint32_t>, kProfileYoung> youngEpochs;
};
static_assert(sizeof(HostProfile) == 2048);

class HostProfiles {
 public:
  /// `epochsPerSecond` is their nominal rate.
  HostProfiles(std::shared_ptr<ProfileControl> control, std::uint32_t epochsPerSecond);
  ~HostProfiles();
  HostProfiles(const HostProfiles&) = delete;
  HostProfiles& operator=(const HostProfiles&) = delete;

  struct Host {
    const Address& address;
    std::uint64_t hash;
    std::uint32_t row;
    /// The count of its row, modulo 2^32.
    std::uint32_t packets;
  };

  // The worker. Hosts have their turn one part of the rows after another, so that most of them cost nothing.
  void adopt(std::uint32_t epoch, std::uint32_t rows) noexcept;
  [[nodiscard]] bool isTurnOf(std::uint32_t row) const noexcept { return ((row + epoch_) & turnMask_) == 0; }
  /// Call it at the host's turn. Whether one of its next packets is wanted.
  [[nodiscard]] bool isDue(const Host& host) noexcept;
  /// The host is watched at its turn: what it receives is not kept.
  void interrupt(const Host& host) noexcept;
  /// Whether the present packet of a host that is due is to be offered: one in kDrawn, so that it is seldom the first
  /// after a silence, which is another kind of packet than those that follow.
  /// The number in an epoch is bounded, so that a million hosts that begin at once do not hold the worker up.
  [[nodiscard]] bool draws() noexcept;
  /// The same of what stands for `packets` packets: one in kRecordsDrawn of those that stand for many.
  [[nodiscard]] bool draws(std::uint64_t packets) noexcept;
  /// No more packets are taken in this epoch: hosts wait for their next turn.
  [[nodiscard]] bool isSpent() const noexcept { return takenLeft_ == 0; }
  /// Keeps the packet, if there is room for the host. It represents what the host received since the last one. Returns
  /// whether the host is still due.
  bool take(const Host& host, const HeaderSummary& header, std::uint64_t packets) noexcept;

  // Any thread.
  /// Appends what is kept of the host; young packets if they are older than the delay at `epoch`.
  void read(const Address& address, std::uint64_t hash, std::uint32_t epoch, std::vector<profile_record>& out) const;
  /// Reads the profile with this number; false where there is none.
  bool readNumber(std::uint32_t number, std::uint32_t epoch, Address& address, std::vector<profile_record>& out) const;
  [[nodiscard]] std::uint32_t end() const noexcept { return used_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t residentBytes() const { return sets_.residentBytes() + profiles_.residentBytes(); }

 private:
  static constexpr std::uint32_t kWays = 8, kSets = 8'192, kNone = 0xffffffff;
  static constexpr std::uint32_t kDrawn = 8, kRecordsDrawn = 4;
  using Entry = std::atomic<std::uint64_t>;
  struct alignas(64) Set {
    std::array<Entry, kWays> entries;
  };

  [[nodiscard]] Set& setOf(std::uint64_t hash) const noexcept { return sets_[hash >> 32 & (kSets - 1)]; }
  [[nodiscard]] std::uint32_t stampNow() const noexcept;
  [[nodiscard]] Entry* find(const Address& address, std::uint64_t hash) const noexcept;
  [[nodiscard]] bool isOf(std::uint32_t number, const Address& address) const noexcept;
  [[nodiscard]] Entry* roomFor(std::uint64_t hash, std::uint32_t& number) noexcept;
  [[nodiscard]] bool mayLeave(std::uint64_t entry) const noexcept;
  [[nodiscard]] bool mayGrow() const noexcept;
  [[nodiscard]] std::uint32_t intervalOf(const HostProfile& profile) const noexcept;
  [[nodiscard]] std::uint32_t nextDue(const HostProfile& profile) const noexcept;
  void begin(HostProfile& profile, const Host& host) noexcept;
  void settle(HostProfile& profile, const Host& host) noexcept;
  void grow(HostProfile& profile, const Host& host) noexcept;
  void copy(const HostProfile& profile, std::uint32_t epoch, Address& address, std::vector<profile_record>& out) const;
  [[nodiscard]] bool draws(std::uint64_t wanted, std::uint64_t of) noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;

  const std::shared_ptr<ProfileControl> control_;
  const std::uint32_t intervalMin_, intervalMax_;
  std::uint32_t epoch_ = 0;
  std::uint32_t turnMask_ = 0;
  std::uint32_t takenLeft_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
  LazyArray<Set> sets_;
  LazyArray<HostProfile> profiles_;
  std::atomic<std::uint32_t> used_{0};
};

}  // namespace floodwall
