// The slow half of a shard's worker: what happens once an epoch, around waits, and when rows come and go.
#include <algorithm>
#include <cstring>

#include "count/crowding.h"
#include "count/shard.h"

namespace floodwall {
namespace {

/// Rows looked at with each batch while a sweep is due, and while the worker has nothing better to do.
constexpr std::uint32_t kSweepBusy = 8, kSweepIdle = 4096;
/// The number of epochs in which a sweep goes through all rows.
constexpr std::uint32_t kSweepEpochs = 32;
/// In a table that is not crowded the configured idle time holds, which is at most this.
constexpr std::uint32_t kIdleMsLongest = 3'600'000;
/// Rows of the last fold stay with their hosts until the next one, which has them looked at in between.
constexpr std::uint32_t kIdleEpochsLeast = 3;
/// Rows that are evicted with each batch while a sweep is due, which lasts longer. All at once would hold up the worker
/// for a millisecond.
constexpr std::uint32_t kEvictBusy = 16;
constexpr std::uint32_t kAll = 0xffffffff;

}  // namespace

void Shard::observe() noexcept {
  const std::uint32_t epoch = control_.epoch.load(std::memory_order_acquire);
  if (epoch != epoch_) adopt(epoch);
  if (sweepLeft_ == 0) return;
  evict(kEvictBusy);
  sweep(kSweepBusy);
  index_.settle(kSweepBusy, hashOfRow());
}

/// Takes the networks and watched hosts that hold now, then signals the fold that it may read what was touched before,
/// and that the old ones are no longer used.
void Shard::adopt(std::uint32_t epoch) noexcept {
  epoch_ = epoch;
  view_ = newView_.load(std::memory_order_acquire);
  if (networks_ != view_->networks().get()) {
    networksSince_ = epoch;
    spread_.leavePlaces();
  }
  networks_ = view_->networks().get();
  const WatchedHosts* now = newWatched_.load(std::memory_order_acquire);
  if (now != watchedHosts_) applyWatched(now);
  // After the watched hosts, which stay.
  evictions_.adopt();
  handover_.adopt(epoch);
  for (Sampler& sampler : samplers_) sampler.adapt(control_.epochsPerSecond);
  for (const WatchedHost& host : watchedHosts_->hosts()) watchedSamplers_[host.slot].adapt(control_.epochsPerSecond);
  doorkeeper_.age(control_.epochsPerSecond);
  profiles_.adopt(epoch, usedRows_);
  sweepLeft_ = usedRows_ / kSweepEpochs + 1;
}

void Shard::enterIdle() noexcept { handover_.enterIdle(epoch_); }

void Shard::leaveIdle() noexcept {
  handover_.leaveIdle(epoch_);
  const std::uint32_t epoch = control_.epoch.load(std::memory_order_seq_cst);
  if (epoch != epoch_) adopt(epoch);
  if (sweepLeft_ == 0) return;
  evict(kAll);
  sweep(kSweepIdle);
  index_.settle(kSweepIdle, hashOfRow());
}

void Shard::applyWatched(const WatchedHosts* now) noexcept {
  const auto setFlag = [this](const WatchedHost& host, bool isWatched) {
    const std::uint32_t row = index_.find(control_.hash.of(host.address),
                                          [&](std::uint32_t r) { return rows_.addressOf(r) == host.address; });
    if (row == kNoRow) return;
    rows_.hot(row).epoch = (rows_.hot(row).epoch & kEpochMask) | (isWatched ? HotRow::kWatched : 0);
    rows_.cold(row).watchSlot = host.slot;
  };
  if (watchedHosts_ != nullptr) {
    for (const WatchedHost& host : watchedHosts_->hosts()) setFlag(host, false);
  }
  for (const WatchedHost& host : now->hosts()) setFlag(host, true);
  watchedHosts_ = now;
}

/// There must be a free one, see hasFreeRow(). The row's counters go on from where they stood.
std::uint32_t Shard::takeRow(const Address& address, std::uint64_t hash) noexcept {
  std::uint32_t row = freeRow_;
  if (row != kNoRow) {
    std::memcpy(&freeRow_, rows_.hot(row).key.bytes.data(), sizeof freeRow_);
  } else {
    row = usedRows_++;
  }
  rowsInUse_.store(rowsInUse() + 1, std::memory_order_relaxed);
  HotRow& hot = rows_.hot(row);
  hot.key = address;
  hot.epoch = epoch_;
  const std::uint32_t slot = watchedHosts_->slotOf(address);
  if (slot != kNoSlot) {
    rows_.cold(row).watchSlot = slot;
    hot.epoch |= HotRow::kWatched;
  }
  index_.insert(hash, row, hashOfRow());
  handover_.push(row);
  return row;
}

void Shard::unlinkRow(std::uint32_t row) noexcept {
  HotRow& hot = rows_.hot(row);
  spread_.leaveRow(row);
  index_.erase(control_.hash.of(hot.key), row, hashOfRow());
  hot.epoch = kFreeRow;
  rowsInUse_.store(rowsInUse() - 1, std::memory_order_relaxed);
}

void Shard::linkFree(std::uint32_t row) noexcept {
  std::memcpy(rows_.hot(row).key.bytes.data(), &freeRow_, sizeof freeRow_);
  freeRow_ = row;
}

/// Whether the fold has taken over what rows counted that were touched last in this epoch.
bool Shard::isFolded(std::uint32_t epoch) const noexcept {
  return epochsSince(epoch, epoch_) > epochsSince(handover_.folded(), epoch_);
}

/// Packets do not find the row any more. It keeps its address, by which the fold knows whose its last counts are.
void Shard::evict(std::uint32_t most) noexcept {
  for (Eviction wanted; most != 0 && evictions_.take(wanted); most--) {
    const HotRow& hot = rows_.hot(wanted.row);
    const std::uint32_t touched = hot.epoch;
    const bool isTheirs = touched != kFreeRow && hot.key == wanted.address;
    if (!isTheirs || (touched & HotRow::kWatched) != 0 || leavingCount_ == leaving_.size()) continue;
    unlinkRow(wanted.row);
    leaving_[(leavingAt_ + leavingCount_) % leaving_.size()] = {wanted.row, touched};
    leavingCount_++;
    evictedRows_.store(evictedRows() + 1, std::memory_order_relaxed);
  }
}

void Shard::freeEvicted(std::uint32_t most) noexcept {
  for (; most != 0 && leavingCount_ != 0 && isFolded(leaving_[leavingAt_].epoch); most--) {
    linkFree(leaving_[leavingAt_].row);
    leavingAt_ = static_cast<std::uint32_t>((leavingAt_ + 1) % leaving_.size());
    leavingCount_--;
  }
}

void Shard::sweep(std::uint32_t most) noexcept {
  const std::uint32_t used = std::max(rowsInUse(), control_.trackedHosts.load(std::memory_order_relaxed));
  const std::uint32_t idleMs = idleMsWhen(used, control_.maxHosts, kIdleMsLongest);
  const std::uint32_t idleEpochs =
      std::max(std::min(control_.idleEpochs, idleMs * control_.epochsPerSecond / 1000 + 1), kIdleEpochsLeast);
  for (; most != 0 && sweepLeft_ != 0; most--, sweepLeft_--) {
    if (sweepAt_ >= usedRows_) sweepAt_ = 0;
    if (usedRows_ == 0) return;
    const std::uint32_t row = sweepAt_++;
    const std::uint32_t touched = rows_.hot(row).epoch & kEpochMask;
    if (touched == kFreeRow || epochsSince(touched, epoch_) < idleEpochs || !isFolded(touched)) continue;
    if (spread_.hasRow(row)) continue;
    unlinkRow(row);
    linkFree(row);
  }
}

}  // namespace floodwall
