// Readings of an engine, in columns that the caller owns.
#include <algorithm>
#include <cstring>

#include "count/engine.h"

namespace floodwall {
namespace {

/// The first `count` values.
template <typename T>
void copy(std::span<T> from, std::span<T> to, std::size_t count) noexcept {
  std::copy_n(from.begin(), count, to.begin());
}

}  // namespace

std::uint32_t Engine::readScreened(const HostColumns& out) const {
  const auto handed = fold_.handedOver().lock();
  const std::size_t count = std::min<std::size_t>(out.groups.size(), handed->screenedRows);
  const HostColumns rows = handed->screened.columns();
  copy(rows.addresses, out.addresses, count * sizeof(Address));
  copy(rows.groups, out.groups, count);
  copy(rows.networks, out.networks, count);
  copy(rows.idleMs, out.idleMs, count);
  copy(rows.incoming, out.incoming, count * kMetrics);
  if (options_.countOutgoing) copy(rows.outgoing, out.outgoing, count * kMetrics);
  copy(rows.weights, out.weights, count * kWeights);
  return handed->screenedCount;
}

std::uint32_t Engine::readCounts(std::uint32_t first, const CountColumns& out) const {
  const auto handed = fold_.handedOver().lock();
  const std::vector<CountRow>& counts = handed->counts;
  for (std::size_t row = 0; row < out.agesMs.size() && first + row < counts.size(); row++) {
    const CountRow& counted = counts[first + row];
    std::memcpy(&out.addresses[row * 16], counted.address.bytes.data(), 16);
    out.agesMs[row] = counted.ageMs;
    out.spansMs[row] = counted.spanMs;
    out.isBefore[row] = counted.isBefore ? 1 : 0;
    // Rates per second of one second are counts.
    ratesOf(counted.totals[0], 1, out.incoming.subspan(row * kMetrics).first<kMetrics>());
    ratesOf(counted.totals[1], 1, out.outgoing.subspan(row * kMetrics).first<kMetrics>());
    std::copy(counted.weights.begin(), counted.weights.end(), &out.weights[row * kWeights]);
  }
  return static_cast<std::uint32_t>(counts.size());
}

HostChunk Engine::readHosts(std::int64_t cursor, const HostColumns& out) const {
  HostChunk chunk;
  const auto state = fold_.state().lock();
  for (std::int64_t host = std::max<std::int64_t>(cursor, 0); host < state->hosts.end(); host++) {
    const auto number = static_cast<std::uint32_t>(host);
    if (!state->hosts.isHost(number)) continue;
    if (chunk.count == out.groups.size()) {
      chunk.next = host;
      break;
    }
    state->writeRow(state->screenedHost(number), out, chunk.count++);
  }
  return chunk;
}

bool Engine::readHost(const Address& address, const HostColumns& out) const {
  const auto state = fold_.state().lock();
  const std::uint32_t host = state->hosts.find(address);
  if (host == HostTable::kNone) return false;
  if (!out.groups.empty()) state->writeRow(state->screenedHost(host), out, 0);
  return true;
}

namespace {
/// Numbers that one call looks at, since most may be free or idle: the fold waits meanwhile.
constexpr std::int64_t kScannedMax = 65'536;
}  // namespace

HostChunk Engine::takeIntervals(std::int64_t cursor, const IntervalColumns& out) {
  HostChunk chunk;
  const auto state = fold_.state().lock();
  if (!state->intervals) return chunk;
  const std::int64_t first = std::max<std::int64_t>(cursor, 0);
  for (std::int64_t host = first; host < state->hosts.end(); host++) {
    if (host - first == kScannedMax) {
      chunk.next = host;
      break;
    }
    const auto number = static_cast<std::uint32_t>(host);
    if (!state->hosts.isHost(number) || state->intervals->isEmpty(number)) continue;
    if (chunk.count == out.groups.size()) {
      chunk.next = host;
      break;
    }
    state->writeInterval(number, out, chunk.count++);
    state->intervals->clear(number);
  }
  return chunk;
}

bool Engine::readInterval(const Address& address, const IntervalColumns& out) const {
  const auto state = fold_.state().lock();
  if (!state->intervals) return false;
  const std::uint32_t host = state->hosts.find(address);
  if (host == HostTable::kNone || state->intervals->isEmpty(host)) return false;
  if (!out.groups.empty()) state->writeInterval(host, out, 0);
  return true;
}

std::uint32_t Engine::readGroups(const HostColumns& out) const {
  const auto state = fold_.state().lock();
  const std::size_t count = std::min<std::size_t>(out.groups.size(), state->groupSums[0].size());
  for (std::size_t group = 0; group < count; group++) {
    ScreenedHost row{};
    row.group = static_cast<std::uint32_t>(group);
    const std::span<double, 2 * kMetrics> both(row.rates);
    ratesOf(state->groupSums[0][group], state->clock.seconds(), both.first<kMetrics>());
    ratesOf(state->groupSums[1][group], state->clock.seconds(), both.last<kMetrics>());
    row.weights = rowWeights(state->groupErrors[0][group].weights(state->errorTime),
                             state->groupErrors[1][group].weights(state->errorTime));
    state->writeRow(row, out, group);
  }
  return static_cast<std::uint32_t>(state->groupSums[0].size());
}

}  // namespace floodwall
