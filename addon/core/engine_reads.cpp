// What is read of an engine, in columns that the caller owns.
#include <algorithm>
#include <cstring>

#include "engine_state.h"

namespace floodwall {
namespace {

void writeRates(const HostRates& rates, const HostColumns& out, std::size_t row) noexcept {
  std::copy_n(rates.begin(), kMetrics, out.incoming.begin() + static_cast<std::ptrdiff_t>(row * kMetrics));
  std::copy_n(rates.begin() + kMetrics, kMetrics, out.outgoing.begin() + static_cast<std::ptrdiff_t>(row * kMetrics));
}

void writeRow(const ScreenedHost& host, const HostColumns& out, std::size_t row) noexcept {
  std::memcpy(&out.addresses[row * 16], host.address.bytes.data(), 16);
  out.groups[row] = host.group;
  out.networks[row] = host.network;
  out.idleMs[row] = host.idleMs;
  writeRates(host.rates, out, row);
}

/// One header, and the shard in which it was seen.
struct Found {
  Sample sample;
  std::size_t shard;
  bool isOutgoing;
};

/// Keeps the samples whose packet goes to or comes from the address.
void gather(const std::vector<Sample>& samples, const Address& address, std::size_t shard, std::vector<Found>& found) {
  for (const Sample& sample : samples) {
    Packet packet;
    const Frame frame{sample.data.data(), sample.captured, sample.wire};
    if (parsePacket(frame, Link::ethernet, packet) != ParseError::none) continue;
    const bool isOutgoing = packet.source == address;
    if (isOutgoing || packet.destination == address) found.push_back({sample, shard, isOutgoing});
  }
}

void writeSample(const Found& found, double ageMs, std::uint8_t* record) noexcept {
  std::memset(record, 0, kSampleRecord);
  std::memcpy(record, &found.sample.wire, 4);
  std::memcpy(record + 4, &found.sample.captured, 4);
  std::memcpy(record + 8, &ageMs, 8);
  record[16] = found.isOutgoing ? 1 : 0;
  std::memcpy(record + 24, found.sample.data.data(), kHeaderBytes);
}
static_assert(24 + kHeaderBytes <= kSampleRecord);

}  // namespace

void EngineState::writeHost(std::uint32_t host, const HostColumns& out, std::size_t row) const noexcept {
  writeRow(screenedHost(host), out, row);
}

std::uint32_t EngineState::readScreened(const HostColumns& out) const {
  const std::scoped_lock held(screenedLock_);
  const std::size_t count = std::min(out.groups.size(), screened_.size());
  for (std::size_t row = 0; row < count; row++) writeRow(screened_[row], out, row);
  return screenedCount_;
}

HostChunk EngineState::readHosts(std::int64_t cursor, const HostColumns& out) const {
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

bool EngineState::readHost(const Address& address, const HostColumns& out) const {
  const std::scoped_lock held(lock_);
  const std::uint32_t host = hosts_.find(address);
  if (host == HostTable::kNone) return false;
  if (!out.groups.empty()) writeHost(host, out, 0);
  return true;
}

std::uint32_t EngineState::readGroups(const HostColumns& out) const {
  const std::scoped_lock held(lock_);
  const std::size_t count = std::min<std::size_t>(out.groups.size(), groupSums_[0].size());
  for (std::size_t group = 0; group < count; group++) {
    ScreenedHost row{};
    row.group = static_cast<std::uint32_t>(group);
    const std::span<double, 2 * kMetrics> both(row.rates);
    ratesOf(groupSums_[0][group], clock_.seconds(), both.first<kMetrics>());
    ratesOf(groupSums_[1][group], clock_.seconds(), both.last<kMetrics>());
    writeRow(row, out, group);
  }
  return static_cast<std::uint32_t>(groupSums_[0].size());
}

std::uint32_t EngineState::readSamples(const Address& address, std::span<std::uint8_t> out) const {
  std::vector<Found> found;
  std::vector<Sample> samples;
  std::uint32_t slot;
  {
    const std::scoped_lock settings(settingsLock_);
    slot = newWatched_->slotOf(address);
  }
  const std::scoped_lock held(lock_);
  for (std::size_t shard = 0; shard < ledgers_.size(); shard++) {
    const ShardState& state = ledgers_[shard]->state();
    samples.clear();
    state.recentSamples().read(0, samples);
    if (slot != kNoSlot) state.watchedSamples().read(slot, samples);
    gather(samples, address, shard, found);
  }
  const std::uint32_t epoch = control_->epoch.load(std::memory_order_relaxed);
  const auto isOlder = [epoch](const Found& a, const Found& b) {
    const std::uint32_t ageA = epochsSince(a.sample.epoch, epoch), ageB = epochsSince(b.sample.epoch, epoch);
    if (ageA != ageB) return ageA > ageB;
    return a.shard != b.shard ? a.shard < b.shard : a.sample.serial < b.sample.serial;
  };
  std::sort(found.begin(), found.end(), isOlder);
  // A packet of a watched host may have been chosen for both rings.
  found.erase(std::unique(found.begin(), found.end(),
                          [](const Found& a, const Found& b) {
                            return a.shard == b.shard && a.sample.serial == b.sample.serial;
                          }),
              found.end());
  const std::size_t count = std::min(found.size(), out.size() / kSampleRecord);
  for (std::size_t i = 0; i < count; i++) {
    const Found& written = found[found.size() - count + i];
    // A packet of the present epoch came after the last fold, one of the epoch before came before it.
    const double ageMs = static_cast<double>(epochsSince(written.sample.epoch, epoch)) * options_.tickMs;
    writeSample(written, ageMs, &out[i * kSampleRecord]);
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace floodwall
