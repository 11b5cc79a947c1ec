#include "count/screening.h"

#include <algorithm>
#include <cstddef>

namespace floodwall {
namespace {

void handOverWatched(const FoldedState& state, const Address& address, HandedOver& to) {
  const HostColumns rows = to.screened.columns();
  const std::uint32_t host = state.hosts.find(address);
  if (host != HostTable::kNone) {
    state.writeRow(state.screenedHost(host), rows, to.screenedRows++);
    return;
  }
  // Its silence was long enough that it left the table: zeros say so.
  const std::uint32_t place = state.networks->match(address);
  if (place == kNoPlace) return;
  const Place& at = state.networks->places()[place];
  const auto idleMs = static_cast<double>(state.options.idleMs);
  state.writeRow({address, at.network, at.group, idleMs, {}, {}}, rows, to.screenedRows++);
}

}  // namespace

/// A rate rises only when packets come, so that only hosts that were listed now, or reached a screen before, can
/// reach one now.
std::vector<Screening::Candidate> Screening::reached(const FoldedState& state) {
  std::vector<Candidate> reached;
  const auto gather = [&](std::uint32_t host) {
    if (!state.hosts.isHost(host)) return;
    const double excess = state.screens->excess(state.ratesOfHost(host), state.groupOf(host));
    if (excess >= 1) reached.push_back({host, excess});
  };
  if (looksAtAll_) {
    looksAtAll_ = false;
    for (std::uint32_t host = 0; host < state.hosts.end(); host++) gather(host);
  } else {
    for (const std::uint32_t host : listed_) gather(host);
    for (const std::uint32_t host : screenedBefore_) {
      if (!isListed(state.hosts[host])) gather(host);
    }
  }
  return reached;
}

/// Writes the rows where the last ones were: a reader waits for that.
std::uint32_t Screening::handOver(const FoldedState& state, const WatchedHosts& watched, Guarded<HandedOver>& to) {
  std::vector<Candidate> screened = reached(state);
  screenedBefore_.clear();
  for (const Candidate& candidate : screened) screenedBefore_.push_back(candidate.host);
  std::erase_if(screened, [&](const Candidate& candidate) {
    return watched.slotOf(state.hosts[candidate.host].address) != kNoSlot;
  });
  const auto most = static_cast<std::ptrdiff_t>(std::min<std::size_t>(screened.size(), kScreenedMax));
  std::partial_sort(screened.begin(), screened.begin() + most, screened.end(),
                    [](const Candidate& a, const Candidate& b) { return a.excess > b.excess; });
  const auto held = to.lock();
  held->screenedRows = 0;
  for (const WatchedHost& host : watched.hosts()) handOverWatched(state, host.address, *held);
  held->screenedCount = held->screenedRows + static_cast<std::uint32_t>(screened.size());
  for (const Candidate& candidate : screened) {
    if (held->screenedRows == kScreenedMax) break;
    state.writeRow(state.screenedHost(candidate.host), held->screened.columns(), held->screenedRows++);
  }
  return held->screenedCount;
}

}  // namespace floodwall
