// What makes room for heavy hosts in tables that are full, at any rate of those that fill them: of some hosts taken in
// turn the lightest is replaced. Sizes are over the window and over all shards.
#include "count/crowding.h"
#include "count/engine.h"

namespace floodwall {
namespace {

/// Hosts of which the lightest is replaced by a new one, and rows of which the lightest is evicted. A heavy host is
/// only chosen where all of them are heavy.
constexpr std::uint32_t kHostsCompared = 64, kRowsCompared = 16;

}  // namespace

void Engine::beginReplacing() noexcept {
  replacedLeft_ = replacedMax_;
  lightHost_ = HostTable::kNone;
}

std::uint64_t Engine::sizeOfHost(std::uint32_t host) const noexcept {
  const std::uint64_t incoming = sizeOf(sums_.of(host, Direction::incoming));
  return sums_.counts(Direction::outgoing) ? incoming + sizeOf(sums_.of(host, Direction::outgoing)) : incoming;
}

bool Engine::isReplaceable(std::uint32_t host) const noexcept { return hosts_.isHost(host) && !hosts_[host].isWatched; }

/// Under the lock, in a full table. Makes room for a host of this size where a lighter one is found. Those that are not
/// heavier than the one that is next cost no search.
bool Engine::replaceLighter(std::uint64_t size) noexcept {
  if (replacedLeft_ == 0) return false;
  if (lightHost_ == HostTable::kNone || !isReplaceable(lightHost_)) lightHost_ = nextLightHost();
  if (lightHost_ == HostTable::kNone || sizeOfHost(lightHost_) >= size) return false;
  const std::uint32_t host = lightHost_;
  lightHost_ = HostTable::kNone;
  if (intervals_ != nullptr) intervals_->clear(host);
  hosts_.replace(host);
  if (sums_.isEmpty(host)) hosts_.release(host);
  replacedLeft_--;
  replacedHosts_++;
  return true;
}

std::uint32_t Engine::nextLightHost() noexcept {
  std::uint32_t lightest = HostTable::kNone;
  std::uint64_t least = 0;
  for (std::uint32_t i = 0; i < std::min(kHostsCompared, hosts_.end()); i++) {
    if (lightAt_ >= hosts_.end()) lightAt_ = 0;
    const std::uint32_t host = lightAt_++;
    if (!isReplaceable(host)) continue;
    const std::uint64_t size = sizeOfHost(host);
    if (lightest != HostTable::kNone && size >= least) continue;
    lightest = host;
    least = size;
  }
  return lightest;
}

/// Chooses as many rows of a shard as it has beyond its limit, first those of hosts that found no place among all.
void Engine::evictRows(ShardLedger& ledger) {
  const Shard& shard = *ledger.shard;
  const std::uint32_t remaining = options_.maxHosts + shard.evictions.pending();
  const std::uint32_t inUse = shard.rowsInUse();
  std::uint32_t surplus = std::min(inUse - std::min(inUse, remaining), shard.evictions.room());
  for (; surplus != 0 && !ledger.refused().empty(); surplus--) {
    ledger.evict(ledger.refused().back(), foldNumber_);
    ledger.refused().pop_back();
  }
  ledger.refused().clear();
  for (; surplus != 0; surplus--) evictLightest(ledger);
}

/// Of the next rows, as far as the fold knows whose they are; the worker checks that they still are.
void Engine::evictLightest(ShardLedger& ledger) {
  Eviction lightest{{}, kNoRow};
  std::uint64_t least = 0;
  for (std::uint32_t i = 0; i < std::min(kRowsCompared, ledger.rows()); i++) {
    const std::uint32_t row = ledger.hand;
    ledger.hand = row + 1 == ledger.rows() ? 0 : row + 1;
    const std::uint32_t host = ledger.hostOf(row);
    if (host == 0 || !isReplaceable(host - 1)) continue;
    const std::uint64_t size = sizeOfHost(host - 1);
    if (lightest.row != kNoRow && size >= least) continue;
    lightest = {hosts_[host - 1].address, row};
    least = size;
  }
  if (lightest.row != kNoRow) ledger.evict(lightest, foldNumber_);
}

}  // namespace floodwall
