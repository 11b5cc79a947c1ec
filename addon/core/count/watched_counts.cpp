#include "count/watched_counts.h"

#include <algorithm>
#include <cstddef>

namespace floodwall {
namespace {

/// Entries of the journal that are read for newly watched hosts in one fold, newest first: a few ms.
constexpr std::size_t kPastEntriesMax = std::size_t{2} << 20;

double msBetween(std::uint64_t fromNs, std::uint64_t toNs) noexcept {
  return static_cast<double>(toNs - std::min(fromNs, toNs)) * 1e-6;
}

}  // namespace

std::vector<std::uint32_t> WatchedCounts::replace(FoldedState& state, std::shared_ptr<const WatchedHosts> hosts) {
  const std::shared_ptr<const WatchedHosts> before = std::exchange(hosts_, std::move(hosts));
  for (const WatchedHost& watched : before->hosts()) {
    const std::uint32_t host = state.hosts.find(watched.address);
    if (host != HostTable::kNone) state.hosts[host].isWatched = false;
  }
  totals_.assign(hosts_->hosts().empty() ? 0 : kWatchedMax, {});
  variances_.assign(totals_.size(), {});
  std::vector<std::uint32_t> added;
  for (const WatchedHost& watched : hosts_->hosts()) {
    const std::uint32_t host = state.hosts.find(watched.address);
    if (host == HostTable::kNone) continue;
    state.hosts[host].isWatched = true;
    if (before->slotOf(watched.address) == kNoSlot) added.push_back(host);
  }
  return added;
}

/// How exact the counts of each fold were is not kept: all are as exact as the window.
void WatchedCounts::gatherPast(const FoldedState& state, const RecentHosts& recent, std::vector<std::uint32_t> added,
                               std::uint64_t nowNs) {
  std::sort(added.begin(), added.end());
  // Most entries are of other hosts: these need no search.
  std::vector<bool> isAdded(state.hosts.end(), false);
  for (const std::uint32_t host : added) isAdded[host] = true;
  const BucketClock& clock = state.clock;
  std::size_t read = 0;
  std::uint64_t endNs = clock.lastFoldNs();
  for (std::uint64_t age = 0; age < clock.buckets() && age <= clock.number() && read < kPastEntriesMax; age++) {
    const auto slot = static_cast<std::uint32_t>((clock.number() - age) % clock.buckets());
    const std::uint64_t beganNs = clock.beganNs(slot);
    if (beganNs == BucketClock::kNever) continue;
    const std::size_t first = past_.size();
    for (const std::uint32_t host : added) {
      past_.push_back({state.hosts[host].address,
                       msBetween(endNs, nowNs),
                       msBetween(beganNs, endNs),
                       false,
                       {},
                       state.weightsOfHost(host)});
    }
    state.sums.forBucket(slot, [&](const JournalEntry& entry) {
      read++;
      if (!isAdded[entry.host]) return;
      const auto found = std::lower_bound(added.begin(), added.end(), entry.host);
      CountRow& row = past_[first + static_cast<std::size_t>(found - added.begin())];
      row.totals[static_cast<std::size_t>(entry.direction)].add(entry.totals);
    });
    endNs = beganNs;
  }
  for (const std::uint32_t host : added) {
    const Address& address = state.hosts[host].address;
    recent.forReadings(host, address, endNs, [&](const RecentHosts::Reading& reading) {
      past_.push_back({address, msBetween(reading.endNs, nowNs), state.options.windowMs * 1.0, true, reading.totals,
                       state.weightsOfHost(host)});
    });
  }
  std::reverse(past_.begin(), past_.end());
}

void WatchedCounts::count(const Address& address, const ShardLedger::RowDelta& delta) {
  const std::uint32_t slot = hosts_->slotOf(address);
  for (std::size_t d = 0; d < delta.totals.size(); d++) {
    totals_[slot].at(d).add(delta.totals.at(d));
    variances_[slot].at(d).add(delta.variances.at(d));
  }
}

std::vector<CountRow> WatchedCounts::take(double spanMs) {
  std::vector<CountRow> rows = std::exchange(past_, {});
  for (const WatchedHost& watched : hosts_->hosts()) {
    auto& totals = totals_[watched.slot];
    auto& variances = variances_[watched.slot];
    const RowWeights weights = rowWeights(weightsOf(variances[0], totals[0]), weightsOf(variances[1], totals[1]));
    rows.push_back({watched.address, 0, spanMs, false, totals, weights});
    totals = {};
    variances = {};
  }
  return rows;
}

}  // namespace floodwall
