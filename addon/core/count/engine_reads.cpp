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

/// A sampled header of the host: where it lies, and its place in time. Small, since many are sorted.
struct Found {
  std::size_t sample;
  std::uint64_t serial;
  std::uint32_t shard;
  /// Epochs since it came.
  std::uint32_t age;
  bool isOutgoing;

  [[nodiscard]] bool isOlderThan(const Found& other) const noexcept {
    if (age != other.age) return age > other.age;
    return shard != other.shard ? shard < other.shard : serial < other.serial;
  }
  [[nodiscard]] bool isSamePacketAs(const Found& other) const noexcept {
    return shard == other.shard && serial == other.serial;
  }
};

constexpr std::uint32_t kAddressBits = 128;

/// The addresses of which a reading is.
struct Wanted {
  Address address;
  std::uint32_t length;

  [[nodiscard]] bool has(const Address& other) const noexcept {
    const std::size_t whole = length / 8;
    if (std::memcmp(address.bytes.data(), other.bytes.data(), whole) != 0) return false;
    const unsigned rest = length % 8;
    return rest == 0 || ((address.bytes.at(whole) ^ other.bytes.at(whole)) >> (8 - rest)) == 0;
  }
};

/// Where in `samples` a packet goes to or comes from those addresses, oldest first. `ends` has the end of each shard's.
std::vector<Found> find(const std::vector<Sample>& samples, const std::vector<std::size_t>& ends, const Wanted& wanted,
                        std::uint32_t epoch) {
  std::vector<Found> found;
  std::uint32_t shard = 0;
  for (std::size_t i = 0; i < samples.size(); i++) {
    while (i == ends[shard]) shard++;
    const Sample& sample = samples[i];
    Packet packet;
    if (parsePacket({sample.data.data(), sample.captured, sample.wire}, Link::ethernet, packet) != ParseError::none) {
      continue;
    }
    const bool isOutgoing = wanted.has(packet.source);
    if (!isOutgoing && !wanted.has(packet.destination)) continue;
    found.push_back({i, sample.serial, shard, epochsSince(sample.epoch, epoch), isOutgoing});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.isOlderThan(b); });
  // A packet of a watched host may have been chosen for both rings.
  const auto isSame = [](const Found& a, const Found& b) { return a.isSamePacketAs(b); };
  found.erase(std::unique(found.begin(), found.end(), isSame), found.end());
  return found;
}

/// Keeps the newest `most`. From the epoch of which only a part fits it takes records at equal distances: they lie
/// shard by shard, and each shard sees senders of its own.
void keepNewest(std::vector<Found>& found, std::size_t most) {
  if (found.size() <= most) return;
  const std::size_t surplus = found.size() - most;
  if (most != 0) {
    const auto isOfAge = [age = found[surplus].age](const Found& record) { return record.age == age; };
    const auto first = std::find_if(found.begin(), found.end(), isOfAge);
    const auto end = static_cast<std::size_t>(std::find_if_not(first, found.end(), isOfAge) - found.begin());
    const std::size_t size = end - static_cast<std::size_t>(first - found.begin()), fitting = end - surplus;
    // From the back: what is read has not been written over yet.
    for (std::size_t i = 0; i < fitting; i++) found[end - 1 - i] = found[end - 1 - i * size / fitting];
  }
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(surplus));
}

sample_record recordOf(const Sample& sample, bool isOutgoing, double ageMs) noexcept {
  sample_record record{};
  record.wire_bytes = sample.wire;
  record.captured_bytes = sample.captured;
  record.age_ms = ageMs;
  record.direction = isOutgoing ? 1 : 0;
  record.verdict = sample.verdict;
  record.stands_for = sample.standsFor;
  record.exporter = sample.exporter;
  record.input = sample.input;
  record.source_as = sample.sourceAs;
  record.is_made = sample.isMade ? 1 : 0;
  std::memcpy(record.frame, sample.data.data(), sizeof record.frame);
  return record;
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
  intervals_->read(host, Direction::incoming, out.incoming.subspan(at).first<kIntervalValues>());
  intervals_->read(host, Direction::outgoing, out.outgoing.subspan(at).first<kIntervalValues>());
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

std::uint32_t Engine::readSamples(const Address& address, std::span<std::uint8_t> out, std::uint32_t length) const {
  std::uint32_t slot = kNoSlot;
  if (length == kAddressBits) {
    const std::scoped_lock settings(settingsLock_);
    slot = newWatched_->slotOf(address);
  }
  std::vector<Sample> samples;
  std::vector<std::size_t> ends;
  {
    const std::scoped_lock held(lock_);
    for (const auto& ledger : ledgers_) {
      for (std::uint32_t outcome = 0; outcome < kSampledOutcomes; outcome++) {
        ledger->shard->recentSamples().read(outcome, samples);
      }
      if (slot != kNoSlot) ledger->shard->watchedSamples().read(slot, samples);
      ends.push_back(samples.size());
    }
  }
  // After the samples: none of them is from a later epoch.
  const std::uint32_t epoch = control_->epoch.load(std::memory_order_relaxed);
  std::vector<Found> found = find(samples, ends, {address, length}, epoch);
  keepNewest(found, out.size() / sizeof(sample_record));
  for (std::size_t i = 0; i < found.size(); i++) {
    // A packet of the present epoch came after the last fold, one of the epoch before came before it.
    const double ageMs = static_cast<double>(found[i].age) * options_.tickMs;
    const sample_record record = recordOf(samples[found[i].sample], found[i].isOutgoing, ageMs);
    std::memcpy(&out[i * sizeof record], &record, sizeof record);
  }
  return static_cast<std::uint32_t>(found.size());
}

}  // namespace floodwall
