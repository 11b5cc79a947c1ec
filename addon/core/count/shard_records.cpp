// How a shard counts what stands for more than one packet: flow records, and frames that are a sample.
#include <algorithm>

#include "count/record_header.h"
#include "count/shard.h"
#include "parse/layers.h"

namespace floodwall {
namespace {

/// Entries of records that are looked at in one epoch, unless all would then not be looked at twice a window: some
/// milliseconds.
constexpr std::uint32_t kReleasedAtOnce = 65'536;

constexpr auto kIncoming = static_cast<std::size_t>(Direction::incoming);
constexpr auto kOutgoing = static_cast<std::size_t>(Direction::outgoing);

Kind kindOf(const Packet& packet) noexcept { return {packet.transport, packet.isSyn, packet.isFragment}; }

/// The number of epochs in which all entries are visited. A window is a multiple of them, so that it always has as many
/// visits of each.
std::uint32_t roundsFor(std::uint32_t entries, std::uint32_t epochsPerWindow) noexcept {
  std::uint32_t rounds = 1;
  for (std::uint32_t i = 1; i <= epochsPerWindow / 2 && entries / rounds > kReleasedAtOnce; i++) {
    if (epochsPerWindow % i == 0) rounds = i;
  }
  return rounds;
}

/// The bytes of a datagram, 4 or 16 of them.
void setOuterAddress(const std::uint8_t* at, std::size_t bytes, Address& address) noexcept {
  address = {};
  if (bytes != address.bytes.size()) address.bytes[10] = address.bytes[11] = 0xff;
  std::copy(at, at + bytes, address.bytes.end() - static_cast<std::ptrdiff_t>(bytes));
}

void increase(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void Shard::countSampled(const Pending& pending, Link link, StatDelta& delta) {
  const Packet& packet = pending.packet;
  becomeWide();
  const Weighing weighing{.packet = packet,
                          .keys = pending,
                          .amount = {.packets = samplingRate_,
                                     .bytes = std::uint64_t{samplingRate_} * packet.wire,
                                     .newFlows = 0,
                                     .variance = varianceOf(1, packet.wire, samplingRate_)},
                          .rate = samplingRate_,
                          .durationMs = 0,
                          .isIncoming = true,
                          .isOutgoing = mayBeOutgoing(*pending.frame, link),
                          .received = 1};
  const auto describe = [](Sample&) {};
  countWeighed(weighing, delta, describe, [&](const auto& write) { write(*pending.frame, link); });
}

void Shard::countRecords(std::span<const FlowRecord> records) {
  for (; records.size() > kBatch; records = records.subspan(kBatch)) countRecordBatch(records.first(kBatch));
  countRecordBatch(records);
}

void Shard::chooseLayers(std::span<FlowRecord> records, Encapsulations kinds) {
  observe();
  for (FlowRecord& record : records) {
    Packet& packet = record.packet;
    if (record.outerBytes != 0) chooseOuter(record, kinds);
    if (record.header == nullptr || packet.innerAt == 0) continue;
    const Frame frame{record.header, record.headerBytes, record.frameBytes};
    for (std::uint8_t before = 0; packet.innerAt != before && !isOurs(packet);) {
      before = packet.innerAt;
      // It was parsed before, on the way to what is inside.
      if (parsePacket(frame, record.link, packet, {.kinds = kinds, .before = before}) != ParseError::none) break;
    }
    if (record.packets <= 1) record.bytes = packet.wire;
    if (packet.innerAt == 0) continue;
    record.header += packet.innerAt;
    record.headerBytes -= packet.innerAt;
    record.link = Link::rawIp;
  }
}

/// The inner packet where tunnels are taken apart, else the outer one, unless the other alone is in a network.
void Shard::chooseOuter(FlowRecord& record, Encapsulations kinds) const noexcept {
  Packet outer = record.packet;
  clear(outer, record.packet.wire);
  outer.source = {};
  setOuterAddress(record.outerDestination, record.outerBytes, outer.destination);
  if (record.outerSource != nullptr) setOuterAddress(record.outerSource, record.outerBytes, outer.source);
  outer.protocol = record.outerProtocol;
  record.outerBytes = 0;
  const Packet& preferred = kinds.isEmpty() ? outer : record.packet;
  const Packet& other = kinds.isEmpty() ? record.packet : outer;
  const bool isOuter = (isOurs(preferred) || !isOurs(other)) == kinds.isEmpty();
  if (isOuter) record.packet = outer;
}

/// In the three passes of countBatch().
void Shard::countRecordBatch(std::span<const FlowRecord> records) {
  observe();
  becomeWide();
  StatDelta delta{};
  lookUp(records);
  for (std::size_t i = 0; i < records.size(); i++) countRecord(records[i], recordKeys_[i], delta);
  publish(delta);
}

void Shard::lookUp(std::span<const FlowRecord> records) noexcept {
  for (std::size_t i = 0; i < records.size(); i++) {
    const FlowRecord& record = records[i];
    Keys& keys = recordKeys_[i];
    keys.hash[kIncoming] = control_.hash.of(record.packet.destination);
    if (record.countsIncoming) index_.prefetch(keys.hash[kIncoming]);
    if (control_.countOutgoing && record.countsOutgoing) {
      keys.hash[kOutgoing] = control_.hash.of(record.packet.source);
      index_.prefetch(keys.hash[kOutgoing]);
    }
    keys.flow = control_.hash.ofFlow(record.packet, keys.hash[kIncoming]);
    flows_.prefetch(keys.flow);
  }
  for (std::size_t i = 0; i < records.size(); i++) {
    Keys& keys = recordKeys_[i];
    const std::array<bool, 2> counts = {records[i].countsIncoming, control_.countOutgoing && records[i].countsOutgoing};
    for (std::size_t d = 0; d < counts.size(); d++) {
      keys.candidate[d] = counts.at(d) ? index_.candidate(keys.hash[d]) : kNoRow;
      if (keys.candidate[d] == kNoRow) continue;
      prefetchWide(d, keys.candidate[d]);
      if (isSpread(records[i])) spread_.prefetchHead(keys.candidate[d], d);
    }
  }
  for (std::size_t i = 0; i < records.size(); i++) {
    if (!isSpread(records[i])) continue;
    for (std::size_t d = 0; d < 2; d++) {
      if (recordKeys_[i].candidate[d] != kNoRow) spread_.prefetchEntry(recordKeys_[i].candidate[d], d);
    }
  }
}

void Shard::prefetchWide(std::size_t direction, std::uint32_t row) noexcept {
  __builtin_prefetch(&rows_.hot(row), 1);
  __builtin_prefetch(&rows_.wide(direction, row), 1);
}

void Shard::countRecord(const FlowRecord& record, const Keys& keys, StatDelta& delta) {
  const bool isOutgoing = record.countsOutgoing && control_.countOutgoing;
  if (!record.countsIncoming && !record.countsOutgoing) return;
  const std::uint32_t rate = std::clamp(record.samplingRate, 1U, kSamplingRateMax);
  const Amount amount = amountOf(record, rate);
  delta[kReceivedPackets] += amount.packets;
  delta[kReceivedBytes] += amount.bytes;
  const Weighing weighing{.packet = record.packet,
                          .keys = keys,
                          .amount = amount,
                          .rate = rate,
                          .durationMs = isSpread(record) ? std::min(record.durationMs, kRecordMsMax) : 0,
                          .isIncoming = record.countsIncoming,
                          .isOutgoing = isOutgoing,
                          .received = amount.packets};
  const auto describe = [&](Sample& sample) {
    copyReported(record, sample);
    sample.isMade = record.header == nullptr;
  };
  countWeighed(weighing, delta, describe, [&](const auto& write) {
    if (record.header != nullptr) {
      write({record.header, record.headerBytes, record.packet.wire}, record.link);
    } else {
      RecordHeader header;
      write(frameOf(record, header), Link::ethernet);
    }
  });
}

Amount Shard::amountOf(const FlowRecord& record, std::uint32_t rate) noexcept {
  // Without a division for what can be: no product of these overflows.
  constexpr std::uint64_t kSafe = std::uint64_t{1} << 39;
  std::uint64_t packets = record.packets, bytes = record.bytes;
  const bool isSound =
      packets <= kSafe && bytes <= kSafe && packets * rate <= kRecordPacketsMax && bytes * rate <= kRecordBytesMax;
  if (!isSound) {
    packets = std::min(packets, kRecordPacketsMax / rate);
    bytes = std::min(bytes, kRecordBytesMax / rate);
  }
  const bool isCut = packets != record.packets || bytes != record.bytes || record.samplingRate > kSamplingRateMax ||
                     record.durationMs > kRecordMsMax;
  if (isCut) increase(clampedRecords_);
  return {packets * rate, bytes * rate, 0, varianceOf(packets, bytes, rate)};
}

template <typename Describe, typename MakeFrame>
void Shard::countWeighed(const Weighing& weighing, StatDelta& delta, Describe&& describe, MakeFrame&& frame) {
  const Packet& packet = weighing.packet;
  const Keys& keys = weighing.keys;
  const std::uint64_t packets = weighing.amount.packets;
  serial_++;
  const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, 1U << 20));
  const Located to = weighing.isIncoming
                         ? locate(packet.destination, keys.hash[kIncoming], keys.candidate[kIncoming], size)
                         : Located{};
  // As countPending(). Where it is known that a record did not come in, its way decides.
  const Located from = weighing.isOutgoing && to.isForeign()
                           ? locate(packet.source, keys.hash[kOutgoing], keys.candidate[kOutgoing], size)
                           : Located{};
  if (to.isForeign() && from.isForeign()) {
    delta[kForeign] += weighing.received;
    return;
  }
  delta[to.row != kNoRow || from.row != kNoRow ? kCounted : kUntracked] += weighing.received;
  const bool isNewFlow = !packet.isLaterFragment && flows_.isNew(keys.flow, epoch_);
  addWeighed(weighing, Direction::incoming, to, isNewFlow);
  addWeighed(weighing, Direction::outgoing, from, isNewFlow);
  const auto keep = [&](SampleRings& rings, std::uint32_t ring, std::uint32_t slot) {
    Sample sample = sampleWith(slot, FILTER_VERDICTS, packets);
    describe(sample);
    frame([&](const Frame& bytes, Link link) { rings.write(ring, bytes, link, sample); });
  };
  if (packets == 0) return;
  if (samplers_[FILTER_PASSED].takes(packets)) {
    const Located& ours = isWatched(to) ? to : from;
    keep(recent_, FILTER_PASSED, isWatched(ours) ? rows_.cold(ours.row).watchSlot : kNoSlot);
  }
  for (const Located& at : {to, from}) {
    if (!isWatched(at)) continue;
    const std::uint32_t slot = rows_.cold(at.row).watchSlot;
    if (watchedSamplers_[slot].takes(packets)) keep(watchedRings_, slot, slot);
  }
  if (isProfiled(to) && profiles_.draws(packets)) {
    frame([&](const Frame& bytes, Link link) { keepForProfile(to.row, bytes, link, packets); });
  }
}

/// A sampled SYN counts as one new flow for each packet that it stands for. Of other flows the sample only shows that
/// they are there, so that each is counted once: a lower bound of the new ones.
void Shard::addWeighed(const Weighing& weighing, Direction direction, const Located& at, bool isNewFlow) noexcept {
  if (at.isForeign()) return;
  const Kind kind = kindOf(weighing.packet);
  Amount amount = weighing.amount;
  amount.newFlows = !isNewFlow ? 0 : weighing.packet.isSyn ? weighing.rate : 1;
  const bool hasRow = at.row != kNoRow;
  if (weighing.durationMs != 0) {
    const SpreadPool::Owner owner{hasRow ? SpreadPool::OwnerKind::row : SpreadPool::OwnerKind::place,
                                  hasRow ? at.row : at.place};
    const Address& address = direction == Direction::incoming ? weighing.packet.destination : weighing.packet.source;
    if (spread_.add(owner, address, direction, kind, amount, weighing.durationMs)) {
      spreadingRecords_.store(spread_.inUse(), std::memory_order_relaxed);
      // The flow began before, and is new now.
      amount = {0, 0, amount.newFlows, {}};
      if (amount.newFlows == 0) return;
    } else {
      increase(unspreadRecords_);
    }
  }
  if (hasRow) {
    // From a line that is at hand.
    if (amount.newFlows == 1 && direction == Direction::incoming) {
      bump(rows_.hot(at.row).newFlows, 1);
      amount.newFlows = 0;
    }
    rows_.wide(static_cast<std::size_t>(direction), at.row).count(kind, amount);
  } else {
    view_->count(direction, at.place, kind, amount);
  }
}

void Shard::releaseDue(std::uint64_t nowMs) {
  observe();
  spread_.setTime(nowMs);
  const std::uint32_t round = spread_.round();
  const std::uint64_t epochs = epochsSince(releasedEpoch_, epoch_);
  releasedEpoch_ = epoch_;
  if (round == 0 || epochs == 0) return;
  const std::uint64_t share = epochs * (round / roundsFor(round, control_.epochsPerWindow) + 1);
  const auto prefetch = [this](const SpreadPool::Entry& entry) {
    if (entry.ownerKind == SpreadPool::OwnerKind::row) prefetchWide(entry.direction, entry.owner);
  };
  spread_.visit(static_cast<std::uint32_t>(std::min<std::uint64_t>(share, round)), prefetch,
                [this](const SpreadPool::Entry& entry, const Amount& amount) { release(entry, amount); });
  spreadingRecords_.store(spread_.inUse(), std::memory_order_relaxed);
}

/// The rest of a host that has left the networks counts for no host.
void Shard::release(const SpreadPool::Entry& entry, const Amount& amount) noexcept {
  const auto direction = static_cast<Direction>(entry.direction);
  if (entry.ownerKind == SpreadPool::OwnerKind::row) {
    if (found(entry.owner).row != kNoRow) rows_.wide(entry.direction, entry.owner).count(entry.kind, amount);
    return;
  }
  const std::uint32_t place =
      entry.ownerKind == SpreadPool::OwnerKind::place ? entry.owner : networks_->match(entry.address);
  if (place != kNoPlace) view_->count(direction, place, entry.kind, amount);
}

}  // namespace floodwall
