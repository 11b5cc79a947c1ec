// Which hosts a fold hands over: those that reach their screens, and watched ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/guarded.h"
#include "count/folded_state.h"
#include "count/handed_over.h"
#include "count/watched_hosts.h"

namespace floodwall {

/// The fold's.
class Screening {
 public:
  /// Has all hosts looked at once, after a change of screens or networks.
  void lookAtAll() noexcept { looksAtAll_ = true; }
  void beginFold(std::uint32_t fold) noexcept {
    listed_.clear();
    fold_ = fold;
  }
  [[nodiscard]] bool isListed(const TrackedHost& host) const noexcept { return host.listedFold == fold_; }
  /// A host with packets in this fold.
  void list(FoldedState& state, std::uint32_t host) {
    if (looksAtAll_ || !state.mayReach(host, 1)) return;
    state.hosts[host].listedFold = fold_;
    listed_.push_back(host);
  }
  /// Returns how many were screened.
  std::uint32_t handOver(const FoldedState& state, const WatchedHosts& watched, Guarded<HandedOver>& to);

 private:
  struct Candidate {
    std::uint32_t host;
    double excess;
  };
  [[nodiscard]] std::vector<Candidate> reached(const FoldedState& state);

  std::uint32_t fold_ = 0;
  bool looksAtAll_ = false;
  /// Hosts with packets in this fold whose sums may reach a screen.
  std::vector<std::uint32_t> listed_;
  std::vector<std::uint32_t> screenedBefore_;
};

}  // namespace floodwall
