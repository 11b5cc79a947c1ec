// The counts of watched hosts in each fold, which windows smear. Of a host that is newly watched, the journal still has
// what the window holds, so that nothing of a flood is missed that was not watched when it began; of a busy one there
// are sums of windows before that, too.
#include <algorithm>

#include "count/engine.h"

namespace floodwall {
namespace {

/// Entries of the journal that are read for newly watched hosts in one fold, newest first: a few ms.
constexpr std::size_t kPastEntriesMax = std::size_t{2} << 20;

double msBetween(std::uint64_t fromNs, std::uint64_t toNs) noexcept {
  return static_cast<double>(toNs - std::min(fromNs, toNs)) * 1e-6;
}

}  // namespace

void Engine::takeWatched(const WatchedHosts& before, std::uint64_t nowNs) {
  for (const WatchedHost& watched : before.hosts()) {
    const std::uint32_t host = hosts_.find(watched.address);
    if (host != HostTable::kNone) hosts_[host].isWatched = false;
  }
  watchedTotals_.assign(watched_->hosts().empty() ? 0 : kWatchedMax, {});
  watchedVariances_.assign(watchedTotals_.size(), {});
  std::vector<std::uint32_t> added;
  for (const WatchedHost& watched : watched_->hosts()) {
    const std::uint32_t host = hosts_.find(watched.address);
    if (host == HostTable::kNone) continue;
    hosts_[host].isWatched = true;
    if (before.slotOf(watched.address) == kNoSlot) added.push_back(host);
  }
  if (!added.empty()) gatherPast(std::move(added), nowNs);
}

/// Before the fold takes anything out of the window. How exact the counts of each fold were is not kept: all are as
/// exact as the window.
void Engine::gatherPast(std::vector<std::uint32_t> hosts, std::uint64_t nowNs) {
  std::sort(hosts.begin(), hosts.end());
  // Most entries are of other hosts: these need no search.
  std::vector<bool> isAdded(hosts_.end(), false);
  for (const std::uint32_t host : hosts) isAdded[host] = true;
  std::size_t read = 0;
  std::uint64_t endNs = clock_.lastFoldNs();
  for (std::uint64_t age = 0; age < clock_.buckets() && age <= clock_.number() && read < kPastEntriesMax; age++) {
    const auto slot = static_cast<std::uint32_t>((clock_.number() - age) % clock_.buckets());
    const std::uint64_t beganNs = clock_.beganNs(slot);
    if (beganNs == BucketClock::kNever) continue;
    const std::size_t first = pastCounts_.size();
    for (const std::uint32_t host : hosts) {
      pastCounts_.push_back(
          {hosts_[host].address, msBetween(endNs, nowNs), msBetween(beganNs, endNs), false, {}, weightsOfHost(host)});
    }
    sums_.forBucket(slot, [&](const JournalEntry& entry) {
      read++;
      if (!isAdded[entry.host]) return;
      const auto found = std::lower_bound(hosts.begin(), hosts.end(), entry.host);
      CountRow& row = pastCounts_[first + static_cast<std::size_t>(found - hosts.begin())];
      row.totals[static_cast<std::size_t>(entry.direction)].add(entry.totals);
    });
    endNs = beganNs;
  }
  for (const std::uint32_t host : hosts) {
    recent_.forReadings(host, hosts_[host].address, endNs, [&](const RecentHosts::Reading& reading) {
      pastCounts_.push_back({hosts_[host].address, msBetween(reading.endNs, nowNs), options_.windowMs * 1.0, true,
                             reading.totals, weightsOfHost(host)});
    });
  }
  std::reverse(pastCounts_.begin(), pastCounts_.end());
}

void Engine::countWatched(const Address& address, const ShardLedger::RowDelta& delta) {
  const std::uint32_t slot = watched_->slotOf(address);
  for (std::size_t d = 0; d < delta.totals.size(); d++) {
    watchedTotals_[slot].at(d).add(delta.totals.at(d));
    watchedVariances_[slot].at(d).add(delta.variances.at(d));
  }
}

void Engine::handOverCounts(double spanMs) {
  std::vector<CountRow> rows = std::move(pastCounts_);
  pastCounts_.clear();
  for (const WatchedHost& watched : watched_->hosts()) {
    auto& totals = watchedTotals_[watched.slot];
    auto& variances = watchedVariances_[watched.slot];
    const RowWeights weights = rowWeights(weightsOf(variances[0], totals[0]), weightsOf(variances[1], totals[1]));
    rows.push_back({watched.address, 0, spanMs, false, totals, weights});
    totals = {};
    variances = {};
  }
  const std::scoped_lock held(screenedLock_);
  counts_.swap(rows);
}

}  // namespace floodwall
