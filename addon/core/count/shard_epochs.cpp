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

}  // namespace

void Shard::observe() noexcept {
  const std::uint32_t epoch = control_.epoch.load(std::memory_order_acquire);
  if (epoch != epoch_) adopt(epoch);
  if (sweepLeft_ == 0) return;
  sweep(kSweepBusy);
  index_.settle(kSweepBusy, hashOfRow());
}

/// Takes the networks and watched hosts that hold now, then signals the fold that it may read what was touched before,
/// and that the old ones are no longer used.
void Shard::adopt(std::uint32_t epoch) noexcept {
  epoch_ = epoch;
  view_ = view.load(std::memory_order_acquire);
  if (networks_ != view_->networks.get()) networksSince_ = epoch;
  networks_ = view_->networks.get();
  const WatchedHosts* now = watched.load(std::memory_order_acquire);
  if (now != watchedHosts_) applyWatched(now);
  handover.adopt(epoch);
  sampler_.adapt(control_.epochsPerSecond);
  for (const WatchedHost& host : watchedHosts_->hosts()) watchedSamplers_[host.slot].adapt(control_.epochsPerSecond);
  doorkeeper_.age(control_.epochsPerSecond);
  sweepLeft_ = usedRows_ / kSweepEpochs + 1;
}

void Shard::enterIdle() noexcept { handover.enterIdle(epoch_); }

void Shard::leaveIdle() noexcept {
  handover.leaveIdle(epoch_);
  const std::uint32_t epoch = control_.epoch.load(std::memory_order_seq_cst);
  if (epoch != epoch_) adopt(epoch);
  if (sweepLeft_ == 0) return;
  sweep(kSweepIdle);
  index_.settle(kSweepIdle, hashOfRow());
}

void Shard::applyWatched(const WatchedHosts* now) noexcept {
  const auto setFlag = [this](const WatchedHost& host, bool isWatched) {
    const std::uint32_t row =
        index_.find(control_.hash.of(host.address), [&](std::uint32_t r) { return rows.hot[r].key == host.address; });
    if (row == kNoRow) return;
    rows.hot[row].epoch = (rows.hot[row].epoch & kEpochMask) | (isWatched ? HotRow::kWatched : 0);
    rows.cold[row].watchSlot = host.slot;
  };
  if (watchedHosts_ != nullptr) {
    for (const WatchedHost& host : watchedHosts_->hosts()) setFlag(host, false);
  }
  for (const WatchedHost& host : now->hosts()) setFlag(host, true);
  watchedHosts_ = now;
}

/// There must be one: the doorkeeper admits no host to a full table. The row's counters go on from where they stood.
std::uint32_t Shard::takeRow(const Address& address, std::uint64_t hash) noexcept {
  std::uint32_t row = freeRow_;
  if (row != kNoRow) {
    std::memcpy(&freeRow_, rows.hot[row].key.bytes.data(), sizeof freeRow_);
  } else {
    row = usedRows_++;
  }
  rowsInUse_++;
  HotRow& hot = rows.hot[row];
  hot.key = address;
  hot.epoch = epoch_;
  const std::uint32_t slot = watchedHosts_->slotOf(address);
  if (slot != kNoSlot) {
    rows.cold[row].watchSlot = slot;
    hot.epoch |= HotRow::kWatched;
  }
  index_.insert(hash, row, hashOfRow());
  handover.push(row);
  return row;
}

void Shard::freeRow(std::uint32_t row) noexcept {
  HotRow& hot = rows.hot[row];
  index_.erase(control_.hash.of(hot.key), row, hashOfRow());
  hot.epoch = kFreeRow;
  std::memcpy(hot.key.bytes.data(), &freeRow_, sizeof freeRow_);
  freeRow_ = row;
  rowsInUse_--;
}

bool Shard::isFolded(std::uint32_t row) const noexcept {
  return epochsSince(rows.hot[row].epoch, epoch_) > epochsSince(handover.folded(), epoch_);
}

void Shard::sweep(std::uint32_t most) noexcept {
  const std::uint32_t used = std::max(rowsInUse_, control_.trackedHosts.load(std::memory_order_relaxed));
  const std::uint32_t idleMs = idleMsWhen(used, control_.maxHosts, kIdleMsLongest);
  const std::uint32_t idleEpochs =
      std::max(std::min(control_.idleEpochs, idleMs * control_.epochsPerSecond / 1000 + 1), kIdleEpochsLeast);
  for (; most != 0 && sweepLeft_ != 0; most--, sweepLeft_--) {
    if (sweepAt_ >= usedRows_) sweepAt_ = 0;
    if (usedRows_ == 0) return;
    const std::uint32_t row = sweepAt_++;
    const std::uint32_t touched = rows.hot[row].epoch & kEpochMask;
    if (touched == kFreeRow || epochsSince(touched, epoch_) < idleEpochs || !isFolded(row)) continue;
    freeRow(row);
  }
}

}  // namespace floodwall
