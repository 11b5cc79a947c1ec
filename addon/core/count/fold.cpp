#include "count/fold.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "count/crowding.h"

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

void prefetchHost(const FoldedState& state, const ShardLedger& ledger, std::uint32_t row) noexcept {
  const std::uint32_t host = ledger.hostOf(row);
  if (host == 0) return;
  state.hosts.prefetch(host - 1);
  state.sums.prefetch(host - 1);
  if (state.intervals) state.intervals->prefetch(host - 1);
  if (state.errors) state.errors->prefetch(host - 1);
}

void noteHighest(FoldedState& state, std::uint32_t host, Direction direction, const Totals& delta) noexcept {
  Weights weights{};
  if (state.errors) {
    const SamplingError error = state.errors->of(host, direction);
    if (error.isLive(state.errorTime)) weights = error.weights(state.errorTime);
  }
  state.intervals->add(host, direction, delta,
                       {state.sums.of(host, direction), state.clock.seconds(), state.errors ? &weights : nullptr});
}

void addToHost(FoldedState& state, std::uint32_t host, Direction direction, const Weighed& delta) {
  const Totals& totals = delta.totals;
  const std::uint32_t group = state.groupOf(host);
  state.sums.add(host, direction, totals);
  if (state.errors) state.errors->add(host, direction, delta, state.errorTime);
  if (state.intervals) noteHighest(state, host, direction, totals);
  state.groupSums[indexOf(direction)][group].add(totals);
  if (!state.errors) return;
  SamplingError& error = state.groupErrors[indexOf(direction)][group];
  if (!delta.variance.isZero() || error.isLive(state.errorTime)) error.add(totals, delta.variance, state.errorTime);
}

/// An idle host leaves, and a number is given back of which nothing is left.
void sweepHost(FoldedState& state, std::uint32_t host) {
  const TrackedHost& swept = state.hosts[host];
  const EngineOptions& options = state.options;
  const std::uint32_t idleMs = idleMsWhen(state.hosts.tracked(), options.maxHosts, options.idleMs);
  const bool isIdle = swept.state == TrackedHost::State::host && state.nowMs() - swept.activeMs >= idleMs;
  const bool isGone = swept.state == TrackedHost::State::leaving || swept.state == TrackedHost::State::replaced;
  if (!isIdle && !isGone) return;
  if (!state.sums.isEmpty(host)) return;
  if (state.intervals) {
    // Its number waits until its counts are taken, unless others need the room.
    if (isIdle && idleMs == options.idleMs && !state.intervals->isEmpty(host)) return;
    state.intervals->clear(host);
  }
  if (isIdle) state.hosts.retire(host);
  state.hosts.release(host);
}

}  // namespace

Fold::Fold(const EngineOptions& options, std::shared_ptr<Control> control, Guarded<NewSettings>& settings)
    : control_(std::move(control)),
      settings_(settings),
      state_(std::in_place, options, control_->hash),
      watched_(settings.lock()->watched),
      lightHosts_(replacedEachFold(options)),
      recent_(std::uint64_t{options.windowMs} * 1'000'000) {
  state_.change()->screens = settings.lock()->screens;
}

TickSummary Fold::run(std::uint64_t nowNs) {
  const auto began = std::chrono::steady_clock::now();
  control_->foldedMs.store(static_cast<std::uint64_t>(
                               std::chrono::duration_cast<std::chrono::milliseconds>(began.time_since_epoch()).count()),
                           std::memory_order_relaxed);
  const FoldedState& state = state_.read();
  foldNumber_++;
  foldedRows_ = 0;
  screening_.beginFold(foldNumber_);
  const std::uint64_t spanNs = state.nowNs == 0 ? std::uint64_t{state.options.tickMs} * 1'000'000 : nowNs - state.nowNs;
  takeSettings(nowNs);
  lightHosts_.beginFold();
  const std::uint32_t epoch = nextEpoch(control_->epoch.load(std::memory_order_relaxed));
  for (const auto& ledger : ledgers_) ledger->lend(state.networks, watched_.hosts(), epoch);
  control_->epoch.store(epoch, std::memory_order_seq_cst);
  leaveBuckets(nowNs);
  keepErrors();
  rising_.beginFold(state, foldNumber_);
  awaitShards(epoch);
  for (const auto& ledger : ledgers_) {
    foldShard(*ledger, epoch);
    ledger->shard.prepareGrowth();
  }
  dropClosedShards();
  const std::uint32_t screened = screening_.handOver(state, *watched_.hosts(), handedOver_);
  std::vector<CountRow> counts = watched_.take(static_cast<double>(spanNs) * 1e-6);
  handedOver_.lock()->counts.swap(counts);
  const std::uint32_t rising = rising_.choose(state, *watched_.hosts());
  control_->hasRising.store(rising != 0, std::memory_order_relaxed);
  sweepHosts();
  for (const auto& ledger : ledgers_) evictRows(state, *ledger, foldNumber_);
  control_->trackedHosts.store(state.hosts.tracked(), std::memory_order_relaxed);
  const auto took = std::chrono::steady_clock::now() - began;
  return {state.hosts.tracked(), screened,
          static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()), foldedRows_,
          rising};
}

void Fold::takeSettings(std::uint64_t nowNs) {
  std::shared_ptr<const Networks> networks;
  std::shared_ptr<const WatchedHosts> watched;
  {
    const auto settings = settings_.lock();
    const auto state = state_.change();
    networks = std::move(settings->networks);
    watched = settings->watched;
    if (settings->screens != state->screens) {
      state->screens = settings->screens;
      screening_.lookAtAll();
    }
    if (settings->intervals) {
      state->intervals.emplace(*std::move(settings->intervals));
      settings->intervals.reset();
    }
    for (const auto& ledger : settings->ledgers) state->ledgers.push_back(ledger);
    ledgers_.insert(ledgers_.end(), settings->ledgers.begin(), settings->ledgers.end());
    settings->ledgers.clear();
  }
  if (networks != nullptr) takeNetworks(std::move(networks));
  if (watched == watched_.hosts()) return;
  std::vector<std::uint32_t> added = watched_.replace(*state_.change(), std::move(watched));
  if (!added.empty()) watched_.gatherPast(state_.read(), recent_, std::move(added), nowNs);
}

/// From the first fold on that finds a shard with sampled traffic.
void Fold::keepErrors() {
  const FoldedState& state = state_.read();
  state_.change()->errorTime = SamplingError::timeOf(state.nowNs, std::uint64_t{state.options.windowMs} * 1'000'000);
  const auto isWide = [](const std::shared_ptr<ShardLedger>& ledger) { return ledger->readerSide->isWide(); };
  if (state.errors || std::none_of(ledgers_.begin(), ledgers_.end(), isWide)) return;
  SamplingErrors errors(state.sums.hosts(), state.options.countOutgoing);
  state_.change()->errors.emplace(std::move(errors));
}

/// Matches all hosts again. The long part only reads; readers wait for the short one that writes.
void Fold::takeNetworks(std::shared_ptr<const Networks> networks) {
  const FoldedState& now = state_.read();
  std::vector<std::uint32_t> places(now.hosts.end(), kNoPlace);
  std::array<std::vector<Totals>, 2> groupSums;
  std::array<std::vector<SamplingError>, 2> groupErrors;
  for (auto& sums : groupSums) sums.assign(networks->groupCount(), Totals{});
  for (auto& errors : groupErrors) errors.assign(networks->groupCount(), SamplingError{});
  for (std::uint32_t host = 0; host < now.hosts.end(); host++) {
    if (!now.hosts.isHost(host)) continue;
    places[host] = networks->match(now.hosts[host].address);
    if (places[host] == kNoPlace) continue;
    const std::uint32_t group = networks->places()[places[host]].group;
    for (const Direction d : kDirections) {
      if (!now.sums.counts(d)) continue;
      groupSums[indexOf(d)][group].add(now.sums.of(host, d));
      if (now.errors) groupErrors[indexOf(d)][group].merge(now.errors->of(host, d), now.errorTime);
    }
  }
  untrackedHosts_.assign(networks->places().size(), HostTable::kNone);
  screening_.lookAtAll();
  const auto state = state_.change();
  for (std::uint32_t host = 0; host < state->hosts.end(); host++) {
    const TrackedHost::State was = state->hosts[host].state;
    if (was == TrackedHost::State::free || was == TrackedHost::State::leaving) continue;
    if (places[host] == kNoPlace) {
      state->hosts.retire(host);
    } else {
      state->hosts[host].place = places[host];
    }
  }
  state->untrackedByNetwork.assign(networks->networkCount(), 0);
  state->networks = std::move(networks);
  state->groupSums = std::move(groupSums);
  state->groupErrors = std::move(groupErrors);
}

void Fold::leaveBuckets(std::uint64_t nowNs) {
  const std::uint64_t next = state_.read().clock.numberAt(nowNs);
  for (bool isMore = true; isMore;) {
    const auto state = state_.change();
    const auto left = [&](const std::vector<JournalEntry>& entries) {
      for (const JournalEntry& entry : entries) state->hosts.prefetch(entry.host);
      for (const JournalEntry& entry : entries) {
        if (state->hosts[entry.host].state == TrackedHost::State::leaving) continue;
        state->groupSums[indexOf(entry.direction)][state->groupOf(entry.host)].subtract(entry.totals);
      }
    };
    for (std::uint32_t i = 0; isMore && i < kSliceBatches; i++) isMore = state->sums.leave(next, left);
  }
  const auto state = state_.change();
  state->clock.advance(nowNs);
  state->nowNs = nowNs;
}

void Fold::awaitShards(std::uint32_t epoch) {
  const auto isReady = [&](const std::shared_ptr<ShardLedger>& ledger) {
    return ledger->shard.handover.isReady(epoch);
  };
  for (int step = 0; step < kAwaitSteps && !std::all_of(ledgers_.begin(), ledgers_.end(), isReady); step++) {
    std::this_thread::sleep_for(kAwaitStep);
  }
}

void Fold::foldShard(ShardLedger& ledger, std::uint32_t epoch) {
  // Asked before the ring is read: a handle that is dropped after that leaves something for the next fold.
  const bool isClosed = ledger.isClosed->load(std::memory_order_acquire);
  HandoverFoldEnd& handover = ledger.shard.handover;
  const HandoverFoldEnd::Readable readable = handover.readable(epoch);
  ledger.reclaim(readable.adopted);
  // In three steps, each a batch behind the one before, so that no step waits for memory: fetch the rows; fetch the
  // hosts, which the rows name; fold.
  RowBatch fetched, named;
  for (bool isMore = true; isMore;) {
    const auto state = state_.change();
    for (std::uint32_t folded = 0; isMore && folded < kSliceRows; folded += kAhead) {
      for (const std::uint32_t row : named.rows()) foldRow(*state, ledger, row);
      named = fetched;
      for (const std::uint32_t row : named.rows()) prefetchHost(*state, ledger, row);
      fetched.count = 0;
      for (std::uint32_t row; fetched.count < kAhead && handover.pop(readable.tail, row);) {
        fetched.all[fetched.count++] = row;
        ledger.prefetchRow(row);
      }
      isMore = named.count + fetched.count != 0;
    }
  }
  handover.finish(readable);
  const auto state = state_.change();
  ledger.takeUntracked([&](std::uint32_t place, Direction direction, const Weighed& delta) {
    addUntracked(*state, place, direction, delta);
  });
  ledger.isDone = isClosed && readable.isAll;
}

void Fold::foldRow(FoldedState& state, ShardLedger& ledger, std::uint32_t row) {
  const ShardLedger::RowDelta delta = ledger.takeRow(row);
  if (delta.isZero) return;
  foldedRows_++;
  const std::uint32_t host = hostOfRow(state, ledger, row, delta.totals);
  const Address& address = ledger.shard.rows.addressOf(row);
  const std::uint32_t place = host != HostTable::kNone ? kNoPlace : state.networks->match(address);
  for (const Direction d : kDirections) {
    const Totals& totals = delta.totals[indexOf(d)];
    if (totals.isZero()) continue;
    if (host != HostTable::kNone) {
      addToHost(state, host, d, delta.of(indexOf(d)));
    } else if (place != kNoPlace) {
      addUntracked(state, place, d, delta.of(indexOf(d)));
    }
  }
  if (host != HostTable::kNone) {
    touch(state, host);
    if (state.hosts[host].isWatched) watched_.count(state.hosts[host].address, delta);
    if (rising_.isMuch(delta.totals)) rising_.note(state, ledger, row, host, delta);
  } else if (place != kNoPlace) {
    state.refusedHosts++;
    ledger.noteRefused({address, row});
  }
}

/// The number of the row's host; a new one where it has none yet. kNone where the table is full of heavier hosts, or
/// where the host left the networks after the worker counted. `totals` is what the row counted.
std::uint32_t Fold::hostOfRow(FoldedState& state, ShardLedger& ledger, std::uint32_t row,
                              const std::array<Totals, 2>& totals) {
  HostTable& hosts = state.hosts;
  std::uint32_t& known = ledger.hostOf(row);
  const Address& address = ledger.shard.rows.addressOf(row);
  if (known != 0 && hosts.isHost(known - 1) && hosts[known - 1].address == address) return known - 1;
  std::uint32_t host = hosts.find(address);
  if (host == HostTable::kNone) {
    const std::uint32_t place = state.networks->match(address);
    if (place != kNoPlace) host = hosts.add(address, place);
    const bool lacksRoom = place != kNoPlace && host == HostTable::kNone;
    if (lacksRoom && lightHosts_.replaceLighter(state, sizeOf(totals[0]) + sizeOf(totals[1]))) {
      host = hosts.add(address, place);
    }
    if (host != HostTable::kNone) {
      hosts[host].isWatched = watched_.hosts()->slotOf(address) != kNoSlot;
      if (state.errors) state.errors->clear(host);
    }
  }
  known = host == HostTable::kNone ? 0 : host + 1;
  return host;
}

void Fold::addUntracked(FoldedState& state, std::uint32_t place, Direction direction, const Weighed& delta) {
  state.untrackedByNetwork[state.networks->places()[place].network] += delta.totals.packets();
  std::uint32_t& host = untrackedHosts_[place];
  if (host == HostTable::kNone) {
    host = state.hosts.addUntracked(place);
    if (host != HostTable::kNone && state.errors) state.errors->clear(host);
  }
  if (host != HostTable::kNone) addToHost(state, host, direction, delta);
}

void Fold::touch(FoldedState& state, std::uint32_t host) {
  TrackedHost& touched = state.hosts[host];
  touched.activeMs = state.nowMs();
  if (screening_.isListed(touched) || !state.mayReach(host, RecentHosts::kBusyShare)) return;
  recent_.note(host, touched.address, state.nowNs, [&] {
    std::array<Totals, 2> sums{};
    for (const Direction d : kDirections) {
      if (state.sums.counts(d)) sums[indexOf(d)] = state.sums.of(host, d);
    }
    return sums;
  });
  screening_.list(state, host);
}

void Fold::dropClosedShards() {
  const auto isDone = [](const auto& ledger) { return ledger->isDone; };
  const auto state = state_.change();
  for (const auto& ledger : state->ledgers) {
    if (!isDone(ledger)) continue;
    state->refusedHosts += ledger->readerSide->refusedHosts();
    state->evictedRows += ledger->readerSide->evictedRows();
  }
  rising_.dropClosedShards();
  std::erase_if(state->ledgers, isDone);
  std::erase_if(ledgers_, isDone);
}

void Fold::sweepHosts() {
  state_.change()->hosts.settleIndex(kSettledSlots);
  const HostTable& hosts = state_.read().hosts;
  for (std::uint32_t left = hosts.end() / kSweepFolds + 1; left != 0 && hosts.end() != 0;) {
    const auto state = state_.change();
    for (std::uint32_t i = 0; i < kSliceRows && left != 0; i++, left--) {
      if (sweepAt_ >= hosts.end()) sweepAt_ = 0;
      sweepHost(*state, sweepAt_++);
    }
  }
}

}  // namespace floodwall
