#include "inline/inline_hosts.h"

#include <algorithm>

#include "count/crowding.h"

namespace floodwall {
namespace {

Address addressOf(const inline_address& key) {
  Address address;
  std::copy(std::begin(key.bytes), std::end(key.bytes), address.bytes.begin());
  return address;
}

}  // namespace

InlineHosts::InlineHosts(InlineTable& table, std::uint32_t lane, Direction direction, std::uint32_t maxHosts,
                         std::uint32_t idleMs)
    : table_(table), lane_(lane), direction_(direction), maxHosts_(maxHosts), idleMs_(idleMs), seen_(maxHosts) {}

void InlineHosts::read(Shard& shard, std::uint64_t nowMs, const PrefixTable* networks) {
  nowMs_ = static_cast<std::uint32_t>(nowMs);
  silentMs_ = idleMsWhen(counting_, maxHosts_, idleMs_);
  counting_ = 0;
  const std::uint32_t used = table_.usedRows(lane_);
  for (std::uint32_t row = 0; row < used; row++) readRow(shard, row, networks);
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
      table_.unlink(lane_, at);
      seen.stage = Stage::leaving;
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
  if (isSame(now, seen.last)) return false;
  // The program writes the address before the first count: what was read of the count came with its address.
  shard.addHostCounts(addressOf(row.address), direction_, difference(now, seen.last));
  seen.last = now;
  seen.changedMs = nowMs_;
  return true;
}

bool InlineHosts::isIdle(const Seen& seen) const noexcept { return nowMs_ - seen.changedMs >= silentMs_; }

}  // namespace floodwall
