// What is read of an engine, in columns that the caller owns.
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

/// Outgoing rates that are not counted are not written: they are the caller's zeros.
void Engine::writeRow(const ScreenedHost& host, const HostColumns& out, std::size_t row) const noexcept {
  std::memcpy(&out.addresses[row * 16], host.address.bytes.data(), 16);
  out.groups[row] = host.group;
  out.networks[row] = host.network;
  out.idleMs[row] = host.idleMs;
  const auto at = static_cast<std::ptrdiff_t>(row * kMetrics);
  std::copy_n(host.rates.begin(), kMetrics, out.incoming.begin() + at);
  if (options_.countOutgoing) std::copy_n(host.rates.begin() + kMetrics, kMetrics, out.outgoing.begin() + at);
  std::copy(host.weights.begin(), host.weights.end(),
            out.weights.begin() + static_cast<std::ptrdiff_t>(row * kWeights));
}

void Engine::writeHost(std::uint32_t host, const HostColumns& out, std::size_t row) const noexcept {
  writeRow(screenedHost(host), out, row);
}

std::uint32_t Engine::readScreened(const HostColumns& out) const {
  const std::scoped_lock held(screenedLock_);
  const std::size_t count = std::min<std::size_t>(out.groups.size(), screenedRows_);
  const HostColumns rows = screened_.columns();
  copy(rows.addresses, out.addresses, count * sizeof(Address));
  copy(rows.groups, out.groups, count);
  copy(rows.networks, out.networks, count);
  copy(rows.idleMs, out.idleMs, count);
  copy(rows.incoming, out.incoming, count * kMetrics);
  if (options_.countOutgoing) copy(rows.outgoing, out.outgoing, count * kMetrics);
  copy(rows.weights, out.weights, count * kWeights);
  return screenedCount_;
}

std::uint32_t Engine::readCounts(std::uint32_t first, const CountColumns& out) const {
  const std::scoped_lock held(screenedLock_);
  for (std::size_t row = 0; row < out.agesMs.size() && first + row < counts_.size(); row++) {
    const CountRow& counted = counts_[first + row];
    std::memcpy(&out.addresses[row * 16], counted.address.bytes.data(), 16);
    out.agesMs[row] = counted.ageMs;
    out.spansMs[row] = counted.spanMs;
    out.isBefore[row] = counted.isBefore ? 1 : 0;
    // Rates per second of one second are counts.
    ratesOf(counted.totals[0], 1, out.incoming.subspan(row * kMetrics).first<kMetrics>());
    ratesOf(counted.totals[1], 1, out.outgoing.subspan(row * kMetrics).first<kMetrics>());
    std::copy(counted.weights.begin(), counted.weights.end(), &out.weights[row * kWeights]);
  }
  return static_cast<std::uint32_t>(counts_.size());
}

HostChunk Engine::readHosts(std::int64_t cursor, const HostColumns& out) const {
  HostChunk chunk;
  const std::scoped_lock held(lock_);
  for (std::int64_t host = std::max<std::int64_t>(cursor, 0); host < hosts_.end(); host++) {
    const auto number = static_cast<std::uint32_t>(host);
    if (!hosts_.isHost(number)) continue;
    if (chunk.count == out.groups.size()) {
      chunk.next = host;
      break;
    }
    writeHost(number, out, chunk.count++);
  }
  return chunk;
}

bool Engine::readHost(const Address& address, const HostColumns& out) const {
  const std::scoped_lock held(lock_);
  const std::uint32_t host = hosts_.find(address);
  if (host == HostTable::kNone) return false;
  if (!out.groups.empty()) writeHost(host, out, 0);
  return true;
}

namespace {
/// Numbers that one call looks at, since most may be free or idle: the fold waits meanwhile.
constexpr std::int64_t kScannedMax = 65'536;
}  // namespace

HostChunk Engine::takeIntervals(std::int64_t cursor, const IntervalColumns& out) {
  HostChunk chunk;
  const std::scoped_lock held(lock_);
  if (intervals_ == nullptr) return chunk;
  const std::int64_t first = std::max<std::int64_t>(cursor, 0);
  for (std::int64_t host = first; host < hosts_.end(); host++) {
    if (host - first == kScannedMax) {
      chunk.next = host;
      break;
    }
    const auto number = static_cast<std::uint32_t>(host);
    if (!hosts_.isHost(number) || intervals_->isEmpty(number)) continue;
    if (chunk.count == out.groups.size()) {
      chunk.next = host;
      break;
    }
    writeInterval(number, out, chunk.count++);
    intervals_->clear(number);
  }
  return chunk;
}

bool Engine::readInterval(const Address& address, const IntervalColumns& out) const {
  const std::scoped_lock held(lock_);
  if (intervals_ == nullptr) return false;
  const std::uint32_t host = hosts_.find(address);
  if (host == HostTable::kNone || intervals_->isEmpty(host)) return false;
  if (!out.groups.empty()) writeInterval(host, out, 0);
  return true;
}

void Engine::writeInterval(std::uint32_t host, const IntervalColumns& out, std::size_t row) const noexcept {
  const TrackedHost& written = hosts_[host];
  std::memcpy(&out.addresses[row * 16], written.address.bytes.data(), 16);
  out.groups[row] = networks_->places()[written.place].group;
  const std::size_t at = row * kIntervalValues;
  const bool isSampled = errors_ != nullptr;
  intervals_->read(host, Direction::incoming, isSampled, out.incoming.subspan(at).first<kIntervalValues>());
  intervals_->read(host, Direction::outgoing, isSampled, out.outgoing.subspan(at).first<kIntervalValues>());
}

std::uint32_t Engine::readGroups(const HostColumns& out) const {
  const std::scoped_lock held(lock_);
  const std::size_t count = std::min<std::size_t>(out.groups.size(), groupSums_[0].size());
  for (std::size_t group = 0; group < count; group++) {
    ScreenedHost row{};
    row.group = static_cast<std::uint32_t>(group);
    const std::span<double, 2 * kMetrics> both(row.rates);
    ratesOf(groupSums_[0][group], clock_.seconds(), both.first<kMetrics>());
    ratesOf(groupSums_[1][group], clock_.seconds(), both.last<kMetrics>());
    row.weights = rowWeights(groupErrors_[0][group].weights(errorTime_), groupErrors_[1][group].weights(errorTime_));
    writeRow(row, out, group);
  }
  return static_cast<std::uint32_t>(groupSums_[0].size());
}

}  // namespace floodwall
