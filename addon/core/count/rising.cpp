// Which hosts may reach their screen before the next fold, and what they have reached meanwhile. A look is never ahead
// of the next fold: it lacks what will have left the window by then, so that it finds earlier what a fold in time would
// find too. Windows, rates and handover to the fold stay as they are.
#include "count/rising.h"

#include <algorithm>

#include "count/engine.h"

namespace floodwall {
namespace {

/// Traffic may grow faster in the next tick than it did in the last one. One that has begun within the window has more
/// of its rate in the last tick than in the window, and is given that much more: a flood may have begun late in the
/// tick.
constexpr double kFaster = 3;
/// Of its screen: a host that had a lower rate in the last tick does not rise to it within the next one.
constexpr double kLeastShare = 0.5;
/// A rate in the last tick above this multiple of the window's is no longer ordinary variation.
constexpr double kRise = 1.1;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

}  // namespace

void Engine::beginRising() {
  risingRows_.clear();
  rising_.clear();
  risingFew_.fill({kMost, kMost, kMost});
  // A bucket of several ticks would leave the window in one of them.
  if (!clock_.isFine()) return;
  // Each worker may have its part of the flood.
  const double shares = static_cast<double>(clock_.buckets()) * static_cast<double>(ledgers_.size());
  risingScale_ = shares / (kLeastShare * clock_.seconds());
  const auto few = [this](double perSecond) {
    const double counts = perSecond / risingScale_;
    return counts < static_cast<double>(kMost) ? static_cast<std::uint64_t>(counts) : kMost;
  };
  for (std::size_t d = 0; d < risingFew_.size(); d++) {
    const Screens::Least& least = screens_->leastOfAll(d);
    risingFew_[d] = {few(least.packets), few(least.bytes), few(least.newFlows)};
  }
}

void Engine::noteRising(const ShardLedger& ledger, std::uint32_t row, std::uint32_t host,
                        const ShardLedger::RowDelta& delta) {
  const std::uint32_t group = networks_->places()[hosts_[host].place].group;
  if (!screens_->mayRise(delta.totals, risingScale_, group)) return;
  if (risingRows_.size() == kRisingRowsMax || ledger.mayChange(row, foldNumber_)) return;
  risingRows_.push_back({&ledger, row, host, screens_->excess(ratesOfTotals(delta.totals), group)});
}

void Engine::chooseRising() {
  std::erase_if(risingRows_, [this](const RisingRow& row) { return !hosts_.isHost(row.host); });
  std::sort(risingRows_.begin(), risingRows_.end(),
            [](const RisingRow& a, const RisingRow& b) { return a.host < b.host; });
  for (std::uint32_t first = 0, end = 0; first < risingRows_.size(); first = end) {
    const std::uint32_t host = risingRows_[first].host;
    double growth = 0;
    for (; end < risingRows_.size() && risingRows_[end].host == host; end++) growth += risingRows_[end].growth;
    const double excess = screens_->excess(ratesOfHost(host), networks_->places()[hosts_[host].place].group);
    const double rise = growth * static_cast<double>(clock_.buckets()) / excess;
    // What is beyond its screen was judged by this fold, and matters again if it goes on to grow.
    const bool isRising = excess < 1 ? excess + std::max(kFaster, rise) * growth >= 1 : rise >= kRise;
    if (!isRising || watched_->slotOf(hosts_[host].address) != kNoSlot) continue;
    rising_.push_back({host, excess, rise, first, end});
  }
  if (rising_.size() > kRisingMax) {
    std::nth_element(rising_.begin(), rising_.begin() + kRisingMax, rising_.end(),
                     [](const RisingHost& a, const RisingHost& b) { return a.rise > b.rise; });
    rising_.resize(kRisingMax);
    std::sort(rising_.begin(), rising_.end(), [](const RisingHost& a, const RisingHost& b) { return a.host < b.host; });
  }
  takeStaying();
  control_->hasRising.store(!rising_.empty(), std::memory_order_relaxed);
}

void Engine::takeStaying() {
  staying_.assign(rising_.size(), {});
  if (rising_.empty()) return;
  // Most entries are of other hosts: these need no search.
  std::vector<bool> isRising(hosts_.end(), false);
  for (std::size_t i = 0; i < rising_.size(); i++) {
    isRising[rising_[i].host] = true;
    for (const Direction d : {Direction::incoming, Direction::outgoing}) {
      if (sums_.counts(d)) staying_[i][static_cast<std::size_t>(d)] = sums_.of(rising_[i].host, d);
    }
  }
  sums_.forLeaving([&](const JournalEntry& entry) {
    if (!isRising[entry.host]) return;
    const auto found =
        std::lower_bound(rising_.begin(), rising_.end(), entry.host,
                         [](const RisingHost& rising, std::uint32_t host) { return rising.host < host; });
    const auto i = static_cast<std::size_t>(found - rising_.begin());
    staying_[i][static_cast<std::size_t>(entry.direction)].subtract(entry.totals);
  });
}

HostRates Engine::ratesOfTotals(const std::array<Totals, 2>& totals) const noexcept {
  HostRates rates{};
  const std::span<double, 2 * kMetrics> both(rates);
  ratesOf(totals[0], clock_.seconds(), both.first<kMetrics>());
  ratesOf(totals[1], clock_.seconds(), both.last<kMetrics>());
  return rates;
}

std::uint32_t Engine::readRising(const HostColumns& out) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < rising_.size() && count < out.groups.size(); i++) {
    RisingHost& rising = rising_[i];
    std::array<Totals, 2> untaken{};
    std::array<Variance, 2> variances{};
    for (std::uint32_t row = rising.firstRow; row < rising.endRow; row++) {
      risingRows_[row].ledger->addUntaken(risingRows_[row].row, untaken, variances);
    }
    std::array<Totals, 2> totals = staying_[i];
    for (std::size_t d = 0; d < totals.size(); d++) totals.at(d).add(untaken.at(d));
    const TrackedHost& host = hosts_[rising.host];
    const Place& at = networks_->places()[host.place];
    const HostRates rates = ratesOfTotals(totals);
    const double excess = screens_->excess(rates, at.group);
    if (excess < 1 || excess <= rising.excess) continue;
    rising.excess = excess;
    const auto weights = [&](Direction d) {
      const auto side = static_cast<std::size_t>(d);
      if (errors_ == nullptr) return weightsOf(variances.at(side), totals.at(side));
      return errors_->of(rising.host, d).weightsWith(untaken.at(side), variances.at(side), errorTime_);
    };
    const RowWeights both = rowWeights(weights(Direction::incoming), weights(Direction::outgoing));
    writeRow({host.address, at.network, at.group, idleMsOf(rising.host), rates, both}, out, count++);
  }
  return count;
}

}  // namespace floodwall
