// Which hosts may reach their screen before the next fold, and what they have reached meanwhile. A look is never ahead
// of the next fold: it lacks what will have left the window by then, so that it finds earlier what a fold in time would
// find too. Windows, rates and handover to the fold stay as they are.
#include "count/rising.h"

#include <algorithm>

namespace floodwall {
namespace {

/// Traffic may grow faster in the next tick than it did in the last one. One that has begun within the window has more
/// of its rate in the last tick than in the window, and is given that much more: a flood may have begun late in the
/// tick.
constexpr double kFaster = 3;
/// A share of its screen: a host that had a lower rate in the last tick does not rise to it within the next one.
constexpr double kLeastShare = 0.5;
/// A rate in the last tick above this multiple of the window's is no longer ordinary variation.
constexpr double kRise = 1.1;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

}  // namespace

void Rising::beginFold(const FoldedState& state, std::uint32_t fold) {
  fold_ = fold;
  rows_.clear();
  hosts_.clear();
  few_.fill({kMost, kMost, kMost});
  // A bucket of several ticks would leave the window in one of them.
  if (!state.clock.isFine()) return;
  // Each worker may have its part of the flood.
  const double shares = static_cast<double>(state.clock.buckets()) * static_cast<double>(state.ledgers.size());
  scale_ = shares / (kLeastShare * state.clock.seconds());
  const auto few = [this](double perSecond) {
    const double counts = perSecond / scale_;
    return counts < static_cast<double>(kMost) ? static_cast<std::uint64_t>(counts) : kMost;
  };
  for (std::size_t d = 0; d < few_.size(); d++) {
    const Screens::Least& least = state.screens->leastOfAll(d);
    few_[d] = {few(least.packets), few(least.bytes), few(least.newFlows)};
  }
}

void Rising::note(const FoldedState& state, const ShardLedger& ledger, std::uint32_t row, std::uint32_t host,
                  const ShardLedger::RowDelta& delta) {
  const std::uint32_t group = state.groupOf(host);
  if (!state.screens->mayRise(delta.totals, scale_, group)) return;
  if (rows_.size() == kRisingRowsMax || ledger.mayChange(row, fold_)) return;
  rows_.push_back({&ledger, row, host, state.screens->excess(state.ratesOfTotals(delta.totals), group)});
}

void Rising::dropClosedShards() {
  std::erase_if(rows_, [](const Row& row) { return row.ledger->isDone; });
}

std::uint32_t Rising::choose(const FoldedState& state, const WatchedHosts& watched) {
  std::erase_if(rows_, [&](const Row& row) { return !state.hosts.isHost(row.host); });
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.host < b.host; });
  for (std::uint32_t first = 0, end = 0; first < rows_.size(); first = end) {
    const std::uint32_t host = rows_[first].host;
    double growth = 0;
    for (; end < rows_.size() && rows_[end].host == host; end++) growth += rows_[end].growth;
    const double excess = state.screens->excess(state.ratesOfHost(host), state.groupOf(host));
    const double rise = growth * static_cast<double>(state.clock.buckets()) / excess;
    // A host beyond its screen was judged by this fold, and matters again if it goes on to grow.
    const bool isRising = excess < 1 ? excess + std::max(kFaster, rise) * growth >= 1 : rise >= kRise;
    if (!isRising || watched.slotOf(state.hosts[host].address) != kNoSlot) continue;
    hosts_.push_back({host, excess, rise, first, end});
  }
  if (hosts_.size() > kRisingMax) {
    std::nth_element(hosts_.begin(), hosts_.begin() + kRisingMax, hosts_.end(),
                     [](const Host& a, const Host& b) { return a.rise > b.rise; });
    hosts_.resize(kRisingMax);
    std::sort(hosts_.begin(), hosts_.end(), [](const Host& a, const Host& b) { return a.host < b.host; });
  }
  takeStaying(state);
  return static_cast<std::uint32_t>(hosts_.size());
}

void Rising::takeStaying(const FoldedState& state) {
  staying_.assign(hosts_.size(), {});
  if (hosts_.empty()) return;
  // Most entries are of other hosts: these need no search.
  std::vector<bool> isRising(state.hosts.end(), false);
  for (std::size_t i = 0; i < hosts_.size(); i++) {
    isRising[hosts_[i].host] = true;
    for (const Direction d : {Direction::incoming, Direction::outgoing}) {
      if (state.sums.counts(d)) staying_[i][static_cast<std::size_t>(d)] = state.sums.of(hosts_[i].host, d);
    }
  }
  state.sums.forLeaving([&](const JournalEntry& entry) {
    if (!isRising[entry.host]) return;
    const auto found = std::lower_bound(hosts_.begin(), hosts_.end(), entry.host,
                                        [](const Host& rising, std::uint32_t host) { return rising.host < host; });
    const auto i = static_cast<std::size_t>(found - hosts_.begin());
    staying_[i][static_cast<std::size_t>(entry.direction)].subtract(entry.totals);
  });
}

std::uint32_t Rising::read(const FoldedState& state, const HostColumns& out) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < hosts_.size() && count < out.groups.size(); i++) {
    Host& rising = hosts_[i];
    std::array<Totals, 2> untaken{};
    std::array<Variance, 2> variances{};
    for (std::uint32_t row = rising.firstRow; row < rising.endRow; row++) {
      rows_[row].ledger->addUntaken(rows_[row].row, untaken, variances);
    }
    std::array<Totals, 2> totals = staying_[i];
    for (std::size_t d = 0; d < totals.size(); d++) totals.at(d).add(untaken.at(d));
    const TrackedHost& host = state.hosts[rising.host];
    const Place& at = state.networks->places()[host.place];
    const HostRates rates = state.ratesOfTotals(totals);
    const double excess = state.screens->excess(rates, at.group);
    if (excess < 1 || excess <= rising.excess) continue;
    rising.excess = excess;
    const auto weights = [&](Direction d) {
      const auto side = static_cast<std::size_t>(d);
      if (!state.errors) return weightsOf(variances.at(side), totals.at(side));
      return state.errors->of(rising.host, d).weightsWith(untaken.at(side), variances.at(side), state.errorTime);
    };
    const RowWeights both = rowWeights(weights(Direction::incoming), weights(Direction::outgoing));
    state.writeRow({host.address, at.network, at.group, state.idleMsOf(rising.host), rates, both}, out, count++);
  }
  return count;
}

}  // namespace floodwall
