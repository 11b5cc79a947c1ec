#include "count/light_hosts.h"

#include <algorithm>

#include "count/crowding.h"

namespace floodwall {
namespace {

/// Hosts of which the lightest is replaced by a new one, and rows of which the lightest is evicted. A heavy host is
/// only chosen where all of them are heavy.
constexpr std::uint32_t kHostsCompared = 64, kRowsCompared = 16;

bool isReplaceable(const FoldedState& state, std::uint32_t host) noexcept {
  return state.hosts.isHost(host) && !state.hosts[host].isWatched;
}

/// Evicts among the next rows, as far as the fold knows their hosts; the worker checks that they still are.
void evictLightest(const FoldedState& state, ShardLedger& ledger, std::uint32_t fold) {
  Eviction lightest{{}, kNoRow};
  std::uint64_t least = 0;
  for (std::uint32_t i = 0; i < std::min(kRowsCompared, ledger.rows()); i++) {
    const std::uint32_t row = ledger.hand;
    ledger.hand = row + 1 == ledger.rows() ? 0 : row + 1;
    const std::uint32_t host = ledger.hostOf(row);
    if (host == 0 || !isReplaceable(state, host - 1)) continue;
    const std::uint64_t size = state.sizeOfHost(host - 1);
    if (lightest.row != kNoRow && size >= least) continue;
    lightest = {state.hosts[host - 1].address, row};
    least = size;
  }
  if (lightest.row != kNoRow) ledger.evict(lightest, fold);
}

}  // namespace

void LightHosts::beginFold() noexcept {
  replacedLeft_ = replacedMax_;
  host_ = HostTable::kNone;
}

bool LightHosts::replaceLighter(FoldedState& state, std::uint64_t size) noexcept {
  if (replacedLeft_ == 0) return false;
  if (host_ == HostTable::kNone || !isReplaceable(state, host_)) host_ = next(state);
  if (host_ == HostTable::kNone || state.sizeOfHost(host_) >= size) return false;
  const std::uint32_t host = host_;
  host_ = HostTable::kNone;
  if (state.intervals) state.intervals->clear(host);
  state.hosts.replace(host);
  if (state.sums.isEmpty(host)) state.hosts.release(host);
  replacedLeft_--;
  state.replacedHosts++;
  return true;
}

std::uint32_t LightHosts::next(const FoldedState& state) noexcept {
  std::uint32_t lightest = HostTable::kNone;
  std::uint64_t least = 0;
  for (std::uint32_t i = 0; i < std::min(kHostsCompared, state.hosts.end()); i++) {
    if (at_ >= state.hosts.end()) at_ = 0;
    const std::uint32_t host = at_++;
    if (!isReplaceable(state, host)) continue;
    const std::uint64_t size = state.sizeOfHost(host);
    if (lightest != HostTable::kNone && size >= least) continue;
    lightest = host;
    least = size;
  }
  return lightest;
}

void evictRows(const FoldedState& state, ShardLedger& ledger, std::uint32_t fold) {
  const std::uint32_t remaining = state.options.maxHosts + ledger.shard.evictions.pending();
  const std::uint32_t inUse = ledger.readerSide->rowsInUse();
  std::uint32_t surplus = std::min(inUse - std::min(inUse, remaining), ledger.shard.evictions.room());
  for (; surplus != 0 && !ledger.refused().empty(); surplus--) {
    ledger.evict(ledger.refused().back(), fold);
    ledger.refused().pop_back();
  }
  ledger.refused().clear();
  for (; surplus != 0; surplus--) evictLightest(state, ledger, fold);
}

}  // namespace floodwall
