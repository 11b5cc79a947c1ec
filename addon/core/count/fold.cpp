// The fold: takes over what the shards counted since the last one. Runs on one thread at a time, beside workers that go
// on counting and readers that wait a moment at most.
#include <algorithm>
#include <chrono>
#include <thread>

#include "count/crowding.h"
#include "count/engine.h"

namespace floodwall {
namespace {

/// How long a fold waits for workers that are in the middle of a batch. A batch takes microseconds; a worker that
/// needs longer has lost its CPU, and its counts are taken at the next fold.
constexpr auto kAwaitStep = std::chrono::microseconds(20);
constexpr int kAwaitSteps = 50;

/// Rows, or batches of journal entries, that are processed under the lock before readers may take it.
constexpr std::uint32_t kSliceRows = 2048, kSliceBatches = 32;
/// Rows whose cache lines are fetched together.
constexpr std::size_t kAhead = 16;
/// Slots of the index of hosts that are moved in one fold, while it grows.
constexpr std::size_t kSettledSlots = 8192;
/// The number of folds in which all hosts are looked through.
constexpr std::uint32_t kSweepFolds = 32;

constexpr std::array kDirections = {Direction::incoming, Direction::outgoing};

struct RowBatch {
  std::array<std::uint32_t, kAhead> all;
  std::size_t count = 0;
  [[nodiscard]] std::span<const std::uint32_t> rows() const noexcept { return std::span(all).first(count); }
};

std::size_t indexOf(Direction direction) noexcept { return static_cast<std::size_t>(direction); }

}  // namespace

TickSummary Engine::fold(std::uint64_t nowNs) {
  const auto began = std::chrono::steady_clock::now();
  control_->foldedMs.store(static_cast<std::uint64_t>(
                               std::chrono::duration_cast<std::chrono::milliseconds>(began.time_since_epoch()).count()),
                           std::memory_order_relaxed);
  foldNumber_++;
  foldedRows_ = 0;
  listed_.clear();
  const std::uint64_t spanNs = nowNs_ == 0 ? std::uint64_t{options_.tickMs} * 1'000'000 : nowNs - nowNs_;
  takeSettings(nowNs);
  beginReplacing();
  const std::uint32_t epoch = nextEpoch(control_->epoch.load(std::memory_order_relaxed));
  for (const auto& ledger : ledgers_) ledger->lend(networks_, watched_, epoch);
  control_->epoch.store(epoch, std::memory_order_seq_cst);
  leaveBuckets(nowNs);
  keepErrors();
  beginRising();
  awaitShards(epoch);
  for (const auto& ledger : ledgers_) {
    foldShard(*ledger, epoch);
    ledger->shard->prepareGrowth();
  }
  dropClosedShards();
  screenHosts();
  handOverCounts(static_cast<double>(spanNs) * 1e-6);
  chooseRising();
  sweepHosts();
  for (const auto& ledger : ledgers_) evictRows(*ledger);
  control_->trackedHosts.store(hosts_.tracked(), std::memory_order_relaxed);
  const auto took = std::chrono::steady_clock::now() - began;
  return {hosts_.tracked(), screenedCount_,
          static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()), foldedRows_,
          static_cast<std::uint32_t>(rising_.size())};
}

void Engine::takeSettings(std::uint64_t nowNs) {
  std::shared_ptr<const Networks> networks;
  const std::shared_ptr<const WatchedHosts> watchedBefore = watched_;
  {
    const std::scoped_lock settings(settingsLock_);
    const std::scoped_lock held(lock_);
    networks = std::move(newNetworks_);
    watched_ = newWatched_;
    if (newScreens_ != screens_) {
      screens_ = newScreens_;
      screensAll_ = true;
    }
    if (newIntervals_ != nullptr) intervals_ = std::move(newIntervals_);
    for (auto& ledger : newLedgers_) ledgers_.push_back(std::move(ledger));
    newLedgers_.clear();
  }
  if (networks != nullptr) takeNetworks(std::move(networks));
  if (watched_ != watchedBefore) takeWatched(*watchedBefore, nowNs);
}

/// From the first fold on that finds a shard with sampled traffic.
void Engine::keepErrors() {
  {
    const std::scoped_lock held(lock_);
    errorTime_ = SamplingError::timeOf(nowNs_, std::uint64_t{options_.windowMs} * 1'000'000);
  }
  const auto isWide = [](const std::unique_ptr<ShardLedger>& ledger) { return ledger->shard->isWide(); };
  if (errors_ != nullptr || std::none_of(ledgers_.begin(), ledgers_.end(), isWide)) return;
  auto errors = std::make_unique<SamplingErrors>(sums_.hosts(), options_.countOutgoing);
  const std::scoped_lock held(lock_);
  errors_ = std::move(errors);
}

/// Matches all hosts again. The long part only reads; readers wait for the short one that writes.
void Engine::takeNetworks(std::shared_ptr<const Networks> networks) {
  std::vector<std::uint32_t> places(hosts_.end(), kNoPlace);
  std::array<std::vector<Totals>, 2> groupSums;
  std::array<std::vector<SamplingError>, 2> groupErrors;
  for (auto& sums : groupSums) sums.assign(networks->groupCount(), Totals{});
  for (auto& errors : groupErrors) errors.assign(networks->groupCount(), SamplingError{});
  for (std::uint32_t host = 0; host < hosts_.end(); host++) {
    if (!hosts_.isHost(host)) continue;
    places[host] = networks->match(hosts_[host].address);
    if (places[host] == kNoPlace) continue;
    const std::uint32_t group = networks->places()[places[host]].group;
    for (const Direction d : kDirections) {
      if (!sums_.counts(d)) continue;
      groupSums[indexOf(d)][group].add(sums_.of(host, d));
      if (errors_ != nullptr) groupErrors[indexOf(d)][group].merge(errors_->of(host, d), errorTime_);
    }
  }
  const std::scoped_lock held(lock_);
  for (std::uint32_t host = 0; host < hosts_.end(); host++) {
    const TrackedHost::State state = hosts_[host].state;
    if (state == TrackedHost::State::free || state == TrackedHost::State::leaving) continue;
    if (places[host] == kNoPlace) {
      hosts_.retire(host);
    } else {
      hosts_[host].place = places[host];
    }
  }
  networks_ = std::move(networks);
  groupSums_ = std::move(groupSums);
  groupErrors_ = std::move(groupErrors);
  untrackedHosts_.assign(networks_->places().size(), HostTable::kNone);
  untrackedByNetwork_.assign(networks_->networkCount(), 0);
  screensAll_ = true;
}

void Engine::leaveBuckets(std::uint64_t nowNs) {
  const std::uint64_t next = clock_.numberAt(nowNs);
  const auto left = [this](const std::vector<JournalEntry>& entries) {
    for (const JournalEntry& entry : entries) hosts_.prefetch(entry.host);
    for (const JournalEntry& entry : entries) {
      const TrackedHost& host = hosts_[entry.host];
      if (host.state == TrackedHost::State::leaving) continue;
      groupSums_[indexOf(entry.direction)][networks_->places()[host.place].group].subtract(entry.totals);
    }
  };
  for (bool isMore = true; isMore;) {
    const std::scoped_lock held(lock_);
    for (std::uint32_t i = 0; isMore && i < kSliceBatches; i++) isMore = sums_.leave(next, left);
  }
  const std::scoped_lock held(lock_);
  clock_.advance(nowNs);
  nowNs_ = nowNs;
}

void Engine::awaitShards(std::uint32_t epoch) {
  const auto isReady = [&](const std::unique_ptr<ShardLedger>& ledger) {
    return ledger->shard->handover.isReady(epoch);
  };
  for (int step = 0; step < kAwaitSteps && !std::all_of(ledgers_.begin(), ledgers_.end(), isReady); step++) {
    std::this_thread::sleep_for(kAwaitStep);
  }
}

void Engine::foldShard(ShardLedger& ledger, std::uint32_t epoch) {
  // Asked before the ring is read: a handle that is dropped after that leaves something for the next fold.
  const bool isClosed = ledger.isClosed->load(std::memory_order_acquire);
  Handover& handover = ledger.shard->handover;
  const Handover::Readable readable = handover.readable(epoch);
  ledger.reclaim(readable.adopted);
  // In three steps, each a batch behind the one before, so that no step waits for memory: fetch the rows; fetch the
  // hosts, which the rows name; fold.
  RowBatch fetched, named;
  for (bool isMore = true; isMore;) {
    const std::scoped_lock held(lock_);
    for (std::uint32_t folded = 0; isMore && folded < kSliceRows; folded += kAhead) {
      for (const std::uint32_t row : named.rows()) foldRow(ledger, row);
      named = fetched;
      for (const std::uint32_t row : named.rows()) prefetchHost(ledger, row);
      fetched.count = 0;
      for (std::uint32_t row; fetched.count < kAhead && handover.pop(readable.tail, row);) {
        fetched.all[fetched.count++] = row;
        ledger.prefetchRow(row);
      }
      isMore = named.count + fetched.count != 0;
    }
  }
  handover.finish(readable);
  const std::scoped_lock held(lock_);
  ledger.takeUntracked([this](std::uint32_t place, Direction direction, const Weighed& delta) {
    addUntracked(place, direction, delta);
  });
  ledger.isDone = isClosed && readable.isAll;
}

void Engine::prefetchHost(const ShardLedger& ledger, std::uint32_t row) const noexcept {
  const std::uint32_t host = ledger.hostOf(row);
  if (host == 0) return;
  hosts_.prefetch(host - 1);
  sums_.prefetch(host - 1);
  if (intervals_ != nullptr) intervals_->prefetch(host - 1);
  if (errors_ != nullptr) errors_->prefetch(host - 1);
}

void Engine::foldRow(ShardLedger& ledger, std::uint32_t row) {
  const ShardLedger::RowDelta delta = ledger.takeRow(row);
  if (delta.isZero) return;
  foldedRows_++;
  const std::uint32_t host = hostOfRow(ledger, row, delta.totals);
  const Address& address = ledger.shard->rows.hot[row].key;
  const std::uint32_t place = host != HostTable::kNone ? kNoPlace : networks_->match(address);
  for (const Direction d : kDirections) {
    const Totals& totals = delta.totals[indexOf(d)];
    if (totals.isZero()) continue;
    if (host != HostTable::kNone) {
      addToHost(host, d, delta.of(indexOf(d)));
    } else if (place != kNoPlace) {
      addUntracked(place, d, delta.of(indexOf(d)));
    }
  }
  if (host != HostTable::kNone) {
    touch(host);
    if (hosts_[host].isWatched) countWatched(hosts_[host].address, delta);
    if (!risingFew_[0].hold(delta.totals[0]) || !risingFew_[1].hold(delta.totals[1])) {
      noteRising(ledger, row, host, delta);
    }
  } else if (place != kNoPlace) {
    refusedHosts_++;
    ledger.noteRefused({address, row});
  }
}

/// The number of the row's host; a new one where it has none yet. kNone where the table is full of heavier hosts, or
/// where the host left the networks after the worker counted. `totals` is what the row counted.
std::uint32_t Engine::hostOfRow(const ShardLedger& ledger, std::uint32_t row, const std::array<Totals, 2>& totals) {
  std::uint32_t& known = ledger.hostOf(row);
  const Address& address = ledger.shard->rows.hot[row].key;
  if (known != 0 && hosts_.isHost(known - 1) && hosts_[known - 1].address == address) return known - 1;
  std::uint32_t host = hosts_.find(address);
  if (host == HostTable::kNone) {
    const std::uint32_t place = networks_->match(address);
    if (place != kNoPlace) host = hosts_.add(address, place);
    if (place != kNoPlace && host == HostTable::kNone && replaceLighter(sizeOf(totals[0]) + sizeOf(totals[1]))) {
      host = hosts_.add(address, place);
    }
    if (host != HostTable::kNone) {
      hosts_[host].isWatched = watched_->slotOf(address) != kNoSlot;
      if (errors_ != nullptr) errors_->clear(host);
    }
  }
  known = host == HostTable::kNone ? 0 : host + 1;
  return host;
}

void Engine::addUntracked(std::uint32_t place, Direction direction, const Weighed& delta) {
  untrackedByNetwork_[networks_->places()[place].network] += delta.totals.packets();
  std::uint32_t& host = untrackedHosts_[place];
  if (host == HostTable::kNone) {
    host = hosts_.addUntracked(place);
    if (host != HostTable::kNone && errors_ != nullptr) errors_->clear(host);
  }
  if (host != HostTable::kNone) addToHost(host, direction, delta);
}

void Engine::addToHost(std::uint32_t host, Direction direction, const Weighed& delta) {
  const Totals& totals = delta.totals;
  const std::uint32_t group = networks_->places()[hosts_[host].place].group;
  sums_.add(host, direction, totals);
  if (errors_ != nullptr) errors_->add(host, direction, delta, errorTime_);
  if (intervals_ != nullptr) noteHighest(host, direction, totals);
  groupSums_[indexOf(direction)][group].add(totals);
  if (errors_ == nullptr) return;
  SamplingError& error = groupErrors_[indexOf(direction)][group];
  if (!delta.variance.isZero() || error.isLive(errorTime_)) error.add(totals, delta.variance, errorTime_);
}

void Engine::noteHighest(std::uint32_t host, Direction direction, const Totals& delta) const noexcept {
  Weights weights{};
  if (errors_ != nullptr) {
    const SamplingError error = errors_->of(host, direction);
    if (error.isLive(errorTime_)) weights = error.weights(errorTime_);
  }
  intervals_->add(host, direction, delta,
                  {sums_.of(host, direction), clock_.seconds(), errors_ == nullptr ? nullptr : &weights});
}

void Engine::touch(std::uint32_t host) {
  TrackedHost& touched = hosts_[host];
  touched.activeMs = nowMs();
  if (touched.listedFold == foldNumber_ || !mayReach(host, RecentHosts::kBusyShare)) return;
  recent_.note(host, touched.address, nowNs_, [&] {
    std::array<Totals, 2> sums{};
    for (const Direction d : kDirections) {
      if (sums_.counts(d)) sums[indexOf(d)] = sums_.of(host, d);
    }
    return sums;
  });
  if (screensAll_ || !mayReach(host, 1)) return;
  touched.listedFold = foldNumber_;
  listed_.push_back(host);
}

void Engine::dropClosedShards() {
  const std::scoped_lock held(lock_);
  for (const auto& ledger : ledgers_) {
    if (!ledger->isDone) continue;
    refusedHosts_ += ledger->shard->refusedHosts();
    evictedRows_ += ledger->shard->evictedRows();
  }
  std::erase_if(risingRows_, [](const RisingRow& row) { return row.ledger->isDone; });
  std::erase_if(ledgers_, [](const std::unique_ptr<ShardLedger>& ledger) { return ledger->isDone; });
}

/// Idle hosts leave, and numbers are given back of which nothing is left.
void Engine::sweepHosts() {
  {
    const std::scoped_lock held(lock_);
    hosts_.settleIndex(kSettledSlots);
  }
  for (std::uint32_t left = hosts_.end() / kSweepFolds + 1; left != 0 && hosts_.end() != 0;) {
    const std::scoped_lock held(lock_);
    for (std::uint32_t i = 0; i < kSliceRows && left != 0; i++, left--) {
      if (sweepAt_ >= hosts_.end()) sweepAt_ = 0;
      sweepHost(sweepAt_++);
    }
  }
}

void Engine::sweepHost(std::uint32_t host) {
  const TrackedHost& swept = hosts_[host];
  const std::uint32_t idleMs = idleMsWhen(hosts_.tracked(), options_.maxHosts, options_.idleMs);
  const bool isIdle = swept.state == TrackedHost::State::host && nowMs() - swept.activeMs >= idleMs;
  const bool isGone = swept.state == TrackedHost::State::leaving || swept.state == TrackedHost::State::replaced;
  if (!isIdle && !isGone) return;
  if (!sums_.isEmpty(host)) return;
  if (intervals_ != nullptr) {
    // Its number waits until its counts are taken, unless others need the room.
    if (isIdle && idleMs == options_.idleMs && !intervals_->isEmpty(host)) return;
    intervals_->clear(host);
  }
  if (isIdle) hosts_.retire(host);
  hosts_.release(host);
}

}  // namespace floodwall
