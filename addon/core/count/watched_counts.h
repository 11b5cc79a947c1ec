// The counts of watched hosts in each fold, which windows smear. Of a host that is newly watched, the journal still has
// what the window holds, so that nothing of a flood is missed that was not watched when it began; of a busy one there
// are sums of windows before that, too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/address.h"
#include "count/folded_state.h"
#include "count/handed_over.h"
#include "count/recent_hosts.h"
#include "count/shard_ledger.h"
#include "count/totals.h"
#include "count/watched_hosts.h"

namespace floodwall {

/// The fold's.
class WatchedCounts {
 public:
  explicit WatchedCounts(std::shared_ptr<const WatchedHosts> hosts) : hosts_(std::move(hosts)) {}

  [[nodiscard]] const std::shared_ptr<const WatchedHosts>& hosts() const noexcept { return hosts_; }
  /// Watches others from this fold on. Returns the numbers of those that were not watched before.
  [[nodiscard]] std::vector<std::uint32_t> replace(FoldedState& state, std::shared_ptr<const WatchedHosts> hosts);
  /// Before the fold takes anything out of the window.
  void gatherPast(const FoldedState& state, const RecentHosts& recent, std::vector<std::uint32_t> added,
                  std::uint64_t nowNs);
  void count(const Address& address, const ShardLedger::RowDelta& delta);
  /// Takes the counts since the last time.
  [[nodiscard]] std::vector<CountRow> take(double spanMs);

 private:
  std::shared_ptr<const WatchedHosts> hosts_;
  /// By slot.
  std::vector<std::array<Totals, 2>> totals_;
  std::vector<std::array<Variance, 2>> variances_;
  std::vector<CountRow> past_;
};

}  // namespace floodwall
