#include "count/shard_ledger.h"

#include <algorithm>
#include <cstddef>

namespace floodwall {

ShardLedger::RowDelta ShardLedger::takeRow(std::uint32_t row) noexcept {
  const HostRows& rows = shard.rows;
  Folded& folded = folded_[row];
  const Counters incoming = rows.incomingOf(row, folded.incoming);
  RowDelta delta{{totalsBetween(incoming, folded.incoming), {}}, {}, false};
  folded.incoming = incoming;
  if (countOutgoing_) {
    const Counters outgoing = rows.outgoingOf(row);
    delta.totals[1] = totalsBetween(outgoing, foldedOutgoing_[row]);
    foldedOutgoing_[row] = outgoing;
  }
  for (std::size_t d = 0; readerSide->isWide() && d < directions(); d++) {
    const Weighed wide = rows.wideOf(d, row);
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
  totals[0].add(totalsBetween(shard.rows.incomingOf(row, folded_[row].incoming), folded_[row].incoming));
  if (countOutgoing_) {
    totals[1].add(totalsBetween(shard.rows.outgoingOf(row), foldedOutgoing_[row]));
  }
  for (std::size_t d = 0; readerSide->isWide() && d < directions(); d++) {
    const Weighed counted = weighedBetween(shard.rows.wideOf(d, row), foldedWide_.at(d)[row].counts);
    totals.at(d).add(counted.totals);
    variances.at(d).add(counted.variance);
  }
}

void ShardLedger::addUntrackedWide(std::size_t direction, std::uint32_t place, Weighed& delta) {
  std::vector<Weighed>& folded = foldedUntrackedWide_.at(direction);
  folded.resize(view_->places(direction));
  const Weighed now = view_->untrackedWideOf(direction, place);
  const Weighed counted = weighedBetween(now, folded[place]);
  folded[place] = now;
  delta.totals.add(counted.totals);
  delta.variance.add(counted.variance);
}

void ShardLedger::prefetchRow(std::uint32_t row) const noexcept {
  const HostRows& rows = shard.rows;
  rows.prefetchHot(row);
  __builtin_prefetch(&folded_[row], 1);
  for (std::size_t d = 0; readerSide->isWide() && d < directions(); d++) {
    rows.prefetchWide(d, row);
    const auto* folded = reinterpret_cast<const std::byte*>(&foldedWide_.at(d)[row]);
    __builtin_prefetch(folded, 1);
    __builtin_prefetch(folded + 64, 1);
  }
  if (!countOutgoing_) return;
  rows.prefetchOutgoing(row);
  __builtin_prefetch(&foldedOutgoing_[row], 1);
}

void ShardLedger::lend(const std::shared_ptr<const Networks>& networks,
                       const std::shared_ptr<const WatchedHosts>& watched, std::uint32_t epoch) {
  const bool hasNetworks = view_ != nullptr && view_->networks() == networks;
  if (hasNetworks && watched_ == watched) return;
  Lent before{nullptr, watched_, epoch};
  if (!hasNetworks) {
    before.view = std::move(view_);
    auto view = std::make_unique<ShardView>(networks, countOutgoing_);
    for (std::size_t d = 0; d < 2; d++) {
      foldedUntracked_[d].assign(view->places(d), Counters{});
      foldedUntrackedWide_[d].clear();
    }
    foldedWrites_ = 0;
    shard.lendView(view.get());
    view_ = std::move(view);
  }
  watched_ = watched;
  shard.lendWatched(watched_.get());
  lentBefore_.push_back(std::move(before));
}

void ShardLedger::reclaim(std::uint32_t epoch) noexcept {
  std::erase_if(lentBefore_, [&](const Lent& lent) { return epochsSince(lent.untilEpoch, epoch) < kEpochMask / 2; });
}

}  // namespace floodwall
