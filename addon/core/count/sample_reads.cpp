// The sampled headers of any number of places in one pass over the rings: each record is parsed once, whatever the
// number of places. The same packets in the same order give the same records.
#include <algorithm>
#include <cstring>

#include "count/engine.h"
#include "count/wanted_places.h"
#include "parse/header_summary.h"

namespace floodwall {
namespace {

/// Where a sampled header lies, and its place in time. Small, since many are sorted.
struct Found {
  std::uint64_t serial;
  std::uint32_t shard;
  /// Epochs since it came.
  std::uint32_t age;
  std::uint32_t ring;
  std::uint32_t slot;
  bool isWatched;
  bool isOutgoing;

  [[nodiscard]] bool isOlderThan(const Found& other) const noexcept {
    if (age != other.age) return age > other.age;
    return shard != other.shard ? shard < other.shard : serial < other.serial;
  }
  [[nodiscard]] bool isSamePacketAs(const Found& other) const noexcept {
    return shard == other.shard && serial == other.serial;
  }
};

/// Oldest first, each packet once: one of a watched host may have been chosen for both rings.
void order(std::vector<Found>& found) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.isOlderThan(b); });
  const auto isSame = [](const Found& a, const Found& b) { return a.isSamePacketAs(b); };
  found.erase(std::unique(found.begin(), found.end(), isSame), found.end());
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

bool parse(const Sample& sample, Packet& packet) noexcept {
  return parsePacket({sample.data.data(), sample.captured, sample.wire}, Link::ethernet, packet) == ParseError::none;
}

void setHeader(sample_record& record, const Sample& sample) noexcept {
  HeaderSummary header;
  if (!summarize({sample.data.data(), sample.captured, sample.wire}, Link::ethernet, header)) return;
  record.protocol = header.packet.protocol;
  record.header_bits = header.bits;
  record.packet_bytes = header.packetBytes;
  record.ttl = header.ttl;
  std::memcpy(record.source, header.packet.source.bytes.data(), sizeof record.source);
  std::memcpy(record.destination, header.packet.destination.bytes.data(), sizeof record.destination);
  if ((header.bits & RECORD_PORTS) != 0) {
    record.source_port = header.packet.sourcePort;
    record.destination_port = header.packet.destinationPort;
  }
  if ((header.bits & RECORD_TCP_FLAGS) != 0) record.tcp_flags = header.packet.tcpFlags;
}

sample_record recordOf(const Sample& sample, bool isOutgoing, double ageMs) noexcept {
  sample_record record;
  // Also what lies between the fields: the same samples give the same bytes.
  std::memset(&record, 0, sizeof record);
  record.wire_bytes = sample.wire;
  record.captured_bytes = sample.captured;
  record.age_ms = ageMs;
  record.direction = isOutgoing ? 1 : 0;
  record.verdict = sample.verdict;
  record.stands_for = sample.standsFor;
  record.is_made = sample.isMade ? 1 : 0;
  copyReported(sample, record);
  std::memcpy(record.frame, sample.data.data(), sizeof record.frame);
  setHeader(record, sample);
  return record;
}

/// One pass over the rings of these shards.
class SampleReading {
 public:
  SampleReading(const WantedPlaces& wanted, std::span<const std::shared_ptr<const ShardReaderSide>> shards)
      : wanted_(wanted), shards_(shards), found_(wanted.size()) {}

  /// Finds samples in the rings that all hosts share.
  void findRecent() {
    for (std::uint32_t shard = 0; shard < shards_.size(); shard++) {
      for (std::uint32_t ring = 0; ring < kSampledOutcomes; ring++) {
        shards_[shard]->recentSamples().visit(ring, [&](std::uint32_t slot, const Sample& sample) {
          Packet packet;
          if (!parse(sample, packet)) return;
          wanted_.of(packet, [&](std::uint32_t place, bool isOutgoing) {
            found_[place].push_back({sample.serial, shard, sample.epoch, ring, slot, false, isOutgoing});
          });
        });
      }
    }
  }
  /// Finds those in a watched host's own ring, into `own_`. A ring may still have packets of the host before.
  void findWatched(std::uint32_t place, std::uint32_t ring) {
    own_.clear();
    for (std::uint32_t shard = 0; shard < shards_.size(); shard++) {
      shards_[shard]->watchedSamples().visit(ring, [&](std::uint32_t, const Sample& sample) {
        Packet packet;
        bool isOutgoing = false;
        if (!parse(sample, packet) || !wanted_.isOf(place, packet, isOutgoing)) return;
        const auto slot = static_cast<std::uint32_t>(own_.size());
        own_.push_back(sample);
        found_[place].push_back({sample.serial, shard, sample.epoch, ring, slot, true, isOutgoing});
      });
    }
  }
  /// Writes the newest of a place, oldest first, as many as fit; returns how many. `epoch` is not before that of any
  /// sample of the rings that all share.
  std::uint32_t write(std::uint32_t place, std::span<std::uint8_t> out, std::uint32_t epoch, std::uint32_t tickMs) {
    std::vector<Found>& found = found_[place];
    // One that came meanwhile is of the epoch after.
    for (Found& record : found) record.age = isAfter(record.age, epoch) ? 0 : epochsSince(record.age, epoch);
    order(found);
    keepNewest(found, out.size() / sizeof(sample_record));
    std::uint32_t written = 0;
    for (const Found& at : found) {
      Sample sample;
      const Sample* from = at.isWatched ? &own_[at.slot] : &sample;
      // Written over since it was found.
      if (!at.isWatched && !isStill(at, sample)) continue;
      // A packet of the present epoch came after the last fold, one of the epoch before came before it.
      const sample_record record = recordOf(*from, at.isOutgoing, static_cast<double>(at.age) * tickMs);
      std::memcpy(&out[written++ * sizeof record], &record, sizeof record);
    }
    found = {};
    return written;
  }

 private:
  [[nodiscard]] static bool isAfter(std::uint32_t then, std::uint32_t epoch) noexcept {
    return epochsSince(then, epoch) > kEpochMask / 2;
  }
  [[nodiscard]] bool isStill(const Found& at, Sample& sample) const noexcept {
    return shards_[at.shard]->recentSamples().readSlot(at.ring, at.slot, sample) && sample.serial == at.serial;
  }

  const WantedPlaces& wanted_;
  std::span<const std::shared_ptr<const ShardReaderSide>> shards_;
  /// By place; `age` is the epoch until it is written.
  std::vector<std::vector<Found>> found_;
  std::vector<Sample> own_;
};

}  // namespace

std::uint32_t Engine::readSamplesOf(std::span<const sample_place> places, std::span<std::uint8_t> out,
                                    std::span<std::uint32_t> counts, std::uint32_t each) const {
  const std::shared_ptr<const WatchedHosts> watched = settings_.lock()->watched;
  const std::shared_ptr<const Networks> networks = fold_.state().lock()->networks;
  const std::vector<std::shared_ptr<const ShardReaderSide>> all = shards();
  const WantedPlaces wanted(places, *networks);
  SampleReading reading(wanted, all);
  reading.findRecent();
  // After the samples: none of them is from a later epoch.
  const std::uint32_t epoch = fold_.control()->epoch.load(std::memory_order_relaxed);
  std::uint32_t total = 0;
  for (std::uint32_t place = 0; place < wanted.size(); place++) {
    const Address* host = wanted.hostOf(place);
    const std::uint32_t slot = host == nullptr ? kNoSlot : watched->slotOf(*host);
    if (slot != kNoSlot) reading.findWatched(place, slot);
    const std::span<std::uint8_t> rest = out.subspan(total * sizeof(sample_record));
    const std::size_t most = std::min(rest.size(), each * sizeof(sample_record));
    counts[place] = reading.write(place, rest.first(most), epoch, options_.tickMs);
    total += counts[place];
  }
  return total;
}

std::uint32_t Engine::readSamples(const Address& address, std::span<std::uint8_t> out, std::uint32_t length) const {
  sample_place place{};
  std::memcpy(place.address, address.bytes.data(), sizeof place.address);
  place.group = RECORD_NO_GROUP;
  place.length = static_cast<std::uint8_t>(length);
  place.direction = 2;
  std::uint32_t count = 0;
  return readSamplesOf(std::span(&place, 1), out, std::span(&count, 1), UINT32_MAX / sizeof(sample_record));
}

}  // namespace floodwall
