#include "count/shard_ledger.h"

#include <algorithm>
#include <cstddef>

namespace floodwall {

ShardLedger::RowDelta ShardLedger::takeRow(std::uint32_t row) noexcept {
  HostRows& rows = shard->rows;
  Folded& folded = folded_[row];
  const Counters incoming = rows.incomingOf(row, folded.incoming);
  RowDelta delta{{totalsBetween(incoming, folded.incoming), {}}, {}, false};
  folded.incoming = incoming;
  if (countOutgoing_) {
    const Counters outgoing = peekCounters(rows.outgoing[row].counters);
    delta.totals[1] = totalsBetween(outgoing, foldedOutgoing_[row]);
    foldedOutgoing_[row] = outgoing;
  }
  for (std::size_t d = 0; shard->isWide() && d < directions(); d++) {
    const Weighed wide = rows.wide.at(d)[row].peek();
    const Weighed counted = weighedBetween(wide, foldedWide_.at(d)[row].counts);
    foldedWide_.at(d)[row].counts = wide;
    delta.totals.at(d).add(counted.totals);
    delta.variances.at(d) = counted.variance;
  }
  delta.isZero = delta.totals[0].isZero() && delta.totals[1].isZero();
  return delta;
}

void ShardLedger::addUntaken(std::uint32_t row, std::array<Totals, 2>& totals,
                             std::array<Variance, 2>& variances) const noexcept {
  totals[0].add(totalsBetween(shard->rows.incomingOf(row, folded_[row].incoming), folded_[row].incoming));
  if (countOutgoing_) {
    totals[1].add(totalsBetween(peekCounters(shard->rows.outgoing[row].counters), foldedOutgoing_[row]));
  }
  for (std::size_t d = 0; shard->isWide() && d < directions(); d++) {
    const Weighed counted = weighedBetween(shard->rows.wide.at(d)[row].peek(), foldedWide_.at(d)[row].counts);
    totals.at(d).add(counted.totals);
    variances.at(d).add(counted.variance);
  }
}

void ShardLedger::addUntrackedWide(std::size_t direction, std::uint32_t place, Weighed& delta) {
  std::vector<Weighed>& folded = foldedUntrackedWide_.at(direction);
  folded.resize(view_->untrackedWide.at(direction).size());
  const Weighed now = view_->untrackedWide.at(direction)[place].peek();
  const Weighed counted = weighedBetween(now, folded[place]);
  folded[place] = now;
  delta.totals.add(counted.totals);
  delta.variance.add(counted.variance);
}

void ShardLedger::prefetchRow(std::uint32_t row) const noexcept {
  const HostRows& rows = shard->rows;
  __builtin_prefetch(&rows.hot[row]);
  __builtin_prefetch(&folded_[row], 1);
  for (std::size_t d = 0; shard->isWide() && d < directions(); d++) {
    const WideRow& wide = rows.wide.at(d)[row];
    __builtin_prefetch(&wide.often);
    __builtin_prefetch(&wide.seldom);
    const auto* folded = reinterpret_cast<const std::byte*>(&foldedWide_.at(d)[row]);
    __builtin_prefetch(folded, 1);
    __builtin_prefetch(folded + 64, 1);
  }
  if (!countOutgoing_) return;
  __builtin_prefetch(&rows.outgoing[row]);
  __builtin_prefetch(&foldedOutgoing_[row], 1);
}

void ShardLedger::lend(const std::shared_ptr<const Networks>& networks,
                       const std::shared_ptr<const WatchedHosts>& watched, std::uint32_t epoch) {
  const bool hasNetworks = view_ != nullptr && view_->networks == networks;
  if (hasNetworks && watched_ == watched) return;
  Lent before{nullptr, watched_, epoch};
  if (!hasNetworks) {
    before.view = std::move(view_);
    view_ = std::make_unique<ShardView>(networks, countOutgoing_);
    for (std::size_t d = 0; d < 2; d++) {
      foldedUntracked_[d].assign(view_->untracked[d].size(), Counters{});
      foldedUntrackedWide_[d].clear();
    }
    foldedWrites_ = 0;
  }
  watched_ = watched;
  shard->view.store(view_.get(), std::memory_order_release);
  shard->watched.store(watched_.get(), std::memory_order_release);
  lentBefore_.push_back(std::move(before));
}

void ShardLedger::reclaim(std::uint32_t epoch) noexcept {
  std::erase_if(lentBefore_, [&](const Lent& lent) { return epochsSince(lent.untilEpoch, epoch) < kEpochMask / 2; });
}

}  // namespace floodwall
