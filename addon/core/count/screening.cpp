// Which hosts the last fold hands over, with their rates as they were at its end.
#include <algorithm>

#include "count/engine.h"

namespace floodwall {

/// For every host with packets, while its sums are at hand: nearly all are far below their screens, and are not looked
/// at again.
bool Engine::mayReach(std::uint32_t host, double shareOfScreen) const noexcept {
  const std::uint32_t group = networks_->places()[hosts_[host].place].group;
  const auto reaches = [&](Direction direction) {
    return screens_->mayReach(sums_.of(host, direction), clock_.seconds() * shareOfScreen, group, direction);
  };
  return reaches(Direction::incoming) || (options_.countOutgoing && reaches(Direction::outgoing));
}

/// A rate rises only when packets come, so that only hosts that were listed now, or reached a screen before, can
/// reach one now. After a change of screens or networks all hosts are looked at.
void Engine::screenHosts() {
  std::vector<Candidate> reached;
  if (screensAll_) {
    screensAll_ = false;
    for (std::uint32_t host = 0; host < hosts_.end(); host++) gatherReached(host, reached);
  } else {
    for (const std::uint32_t host : listed_) gatherReached(host, reached);
    for (const std::uint32_t host : screenedBefore_) {
      if (hosts_[host].listedFold != foldNumber_) gatherReached(host, reached);
    }
  }
  screenedBefore_.clear();
  for (const Candidate& candidate : reached) screenedBefore_.push_back(candidate.host);
  handOver(std::move(reached));
}

void Engine::gatherReached(std::uint32_t host, std::vector<Candidate>& reached) const {
  if (!hosts_.isHost(host)) return;
  const double excess = screens_->excess(ratesOfHost(host), networks_->places()[hosts_[host].place].group);
  if (excess >= 1) reached.push_back({host, excess});
}

/// Writes the rows where the last ones were: a reader waits for that.
void Engine::handOver(std::vector<Candidate> reached) {
  std::erase_if(
      reached, [&](const Candidate& candidate) { return watched_->slotOf(hosts_[candidate.host].address) != kNoSlot; });
  const auto most = static_cast<std::ptrdiff_t>(std::min<std::size_t>(reached.size(), kScreenedMax));
  std::partial_sort(reached.begin(), reached.begin() + most, reached.end(),
                    [](const Candidate& a, const Candidate& b) { return a.excess > b.excess; });
  const std::scoped_lock held(screenedLock_);
  const HostColumns rows = screened_.columns();
  screenedRows_ = 0;
  for (const WatchedHost& watched : watched_->hosts()) handOverWatched(watched.address, rows);
  screenedCount_ = screenedRows_ + static_cast<std::uint32_t>(reached.size());
  for (const Candidate& candidate : reached) {
    if (screenedRows_ == kScreenedMax) break;
    writeRow(screenedHost(candidate.host), rows, screenedRows_++);
  }
}

void Engine::handOverWatched(const Address& address, const HostColumns& rows) {
  const std::uint32_t host = hosts_.find(address);
  if (host != HostTable::kNone) {
    writeRow(screenedHost(host), rows, screenedRows_++);
    return;
  }
  // Its silence was long enough that it left the table: zeros say so.
  const std::uint32_t place = networks_->match(address);
  if (place == kNoPlace) return;
  const Place& at = networks_->places()[place];
  writeRow({address, at.network, at.group, static_cast<double>(options_.idleMs), {}, {}}, rows, screenedRows_++);
}

ScreenedHost Engine::screenedHost(std::uint32_t host) const noexcept {
  const Place& at = networks_->places()[hosts_[host].place];
  return {hosts_[host].address, at.network, at.group, idleMsOf(host), ratesOfHost(host), weightsOfHost(host)};
}

RowWeights Engine::weightsOfHost(std::uint32_t host) const noexcept {
  if (errors_ == nullptr) return {};
  return rowWeights(errors_->of(host, Direction::incoming).weights(errorTime_),
                    errors_->of(host, Direction::outgoing).weights(errorTime_));
}

HostRates Engine::ratesOfHost(std::uint32_t host) const noexcept {
  HostRates rates{};
  const std::span<double, 2 * kMetrics> both(rates);
  ratesOf(sums_.of(host, Direction::incoming), clock_.seconds(), both.first<kMetrics>());
  if (options_.countOutgoing) {
    ratesOf(sums_.of(host, Direction::outgoing), clock_.seconds(), both.last<kMetrics>());
  }
  return rates;
}

double Engine::idleMsOf(std::uint32_t host) const noexcept {
  return static_cast<double>(nowMs() - hosts_[host].activeMs);
}

std::uint32_t Engine::nowMs() const noexcept { return static_cast<std::uint32_t>(nowNs_ / 1'000'000); }

}  // namespace floodwall
