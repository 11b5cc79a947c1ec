#include "inline/inline_hosts.h"

#include <algorithm>

#include "count/crowding.h"
#include "count/totals.h"

namespace floodwall {
namespace {

Address addressOf(const ip_address& key) {
  Address address;
  std::copy(std::begin(key.bytes), std::end(key.bytes), address.bytes.begin());
  return address;
}

/// Rows of which the lightest leaves.
constexpr std::uint32_t kRowsCompared = 16;

}  // namespace

InlineHosts::InlineHosts(InlineTable& table, std::uint32_t lane, Direction direction, std::uint32_t maxHosts,
                         std::uint32_t idleMs)
    : table_(table), lane_(lane), direction_(direction), maxHosts_(maxHosts), idleMs_(idleMs), seen_(maxHosts) {}

void InlineHosts::read(Shard& shard, const Reading& reading) {
  nowMs_ = static_cast<std::uint32_t>(reading.nowMs);
  silentMs_ = idleMsWhen(counting_, maxHosts_, idleMs_);
  counting_ = 0;
  const std::uint32_t used = table_.usedRows(lane_);
  for (std::uint32_t row = 0; row < used; row++) readRow(shard, row, reading.networks);
  if (reading.isShortOfRows && isFull(counting_, maxHosts_)) unlinkLight(shard, used);
  if (table_.giveBack(lane_, freed_)) freed_.clear();
}

void InlineHosts::readRow(Shard& shard, std::uint32_t at, const PrefixTable* networks) {
  const inline_row& row = table_.row(lane_, at);
  Seen& seen = seen_[at];
  const bool isChanged = handOver(shard, row, seen);
  switch (seen.stage) {
    case Stage::unused:
    case Stage::free:
      if (!isChanged) return;
      seen.stage = Stage::counting;
      [[fallthrough]];
    case Stage::counting: {
      counting_++;
      const bool isForeign = networks != nullptr && networks->match(addressOf(row.address)) == PrefixTable::kNone;
      if (!isForeign && !isIdle(seen)) return;
      unlink(at);
      return;
    }
    case Stage::leaving:
      freed_.push_back(at);
      seen.stage = Stage::free;
      return;
  }
}

bool InlineHosts::handOver(Shard& shard, const inline_row& row, Seen& seen) {
  const Counters now = countersOf(row.counts);
  if (seen.recentSize != 0) seen.recentSize /= 2;
  if (isSame(now, seen.last)) return false;
  // The program writes the address before the first count: what was read of the count came with its address.
  const Counters delta = difference(now, seen.last);
  shard.addHostCounts(addressOf(row.address), direction_, delta);
  seen.recentSize += static_cast<std::uint32_t>(std::min<std::uint64_t>(sizeOf(totalsBetween(delta, {})), 1U << 30));
  seen.last = now;
  seen.changedMs = nowMs_;
  return true;
}

void InlineHosts::unlink(std::uint32_t row) {
  table_.unlink(lane_, row);
  seen_[row].stage = Stage::leaving;
}

/// The lightest of some rows taken in turn, so that a heavy host leaves only where all of them are heavy.
void InlineHosts::unlinkLight(const Shard& shard, std::uint32_t used) {
  for (std::uint32_t left = reserveRows(maxHosts_); left != 0; left--) {
    std::uint32_t lightest = kNoRow;
    for (std::uint32_t i = 0; i < std::min(kRowsCompared, used); i++, hand_++) {
      if (hand_ >= used) hand_ = 0;
      const Seen& seen = seen_[hand_];
      const bool isLighter = lightest == kNoRow || seen.recentSize < seen_[lightest].recentSize;
      if (seen.stage != Stage::counting || !isLighter) continue;
      if (!shard.isWatched(addressOf(table_.row(lane_, hand_).address))) lightest = hand_;
    }
    if (lightest != kNoRow) unlink(lightest);
  }
}

bool InlineHosts::isIdle(const Seen& seen) const noexcept { return nowMs_ - seen.changedMs >= silentMs_; }

}  // namespace floodwall
