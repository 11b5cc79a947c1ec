#include "count/shard.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "count/crowding.h"

namespace floodwall {
namespace {

/// Frames ahead whose first line is fetched while one is parsed.
constexpr std::size_t kParseAhead = 12;
/// Evicted rows that are looked at with each address that has none.
constexpr std::uint32_t kFreedAtOnce = 2;

/// Entries of records that are spread at least, however few hosts there may be.
constexpr std::uint32_t kSpreadLeast = 4096;
/// And for each host and direction: of TCP, UDP and ICMP, and of one kind more, as fragments. Memory is taken by those
/// in use.
constexpr std::uint32_t kSpreadEach = 4;

std::uint32_t spreadEntries(const Control& control) noexcept {
  // Entries have numbers of 32 bits.
  constexpr std::uint64_t kEntriesMost = std::uint64_t{1} << 31;
  const std::uint64_t each = std::uint64_t{kSpreadEach} * (control.countOutgoing ? 2 : 1);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each * control.maxHosts, kSpreadLeast, kEntriesMost));
}

constexpr auto in = static_cast<std::size_t>(Direction::incoming);
constexpr auto out = static_cast<std::size_t>(Direction::outgoing);

std::uint64_t packetsOf(const Counters& counters) noexcept {
  return std::uint64_t{counters.packets[0]} + counters.packets[1] + counters.packets[2] + counters.packets[3];
}
std::uint64_t bytesOf(const Counters& counters) noexcept {
  return std::uint64_t{counters.bytes[0]} + counters.bytes[1] + counters.bytes[2] + counters.bytes[3];
}

}  // namespace

Shard::Shard(std::shared_ptr<const Control> control)
    : ShardReaderSide(std::move(control)),
      handover_(control_.maxHosts + reserveRows(control_.maxHosts)),
      rows_(control_.maxHosts + reserveRows(control_.maxHosts), control_.countOutgoing),
      evictions_(reserveRows(control_.maxHosts)),
      // The few of the reserve make it a little more than half full.
      index_(control_.maxHosts),
      leaving_(reserveRows(control_.maxHosts), Pages::small),
      spread_({.entries = spreadEntries(control_),
               .rows = rows_.size(),
               .places = static_cast<std::uint32_t>(kPrefixesMax),
               .countOutgoing = control_.countOutgoing}) {
  // Their seeds are constants, so that a replay and another machine that sees the same packets choose the same ones.
  // A sender that knows them still cannot choose the packets that are not sampled: which ones are depends on all
  // packets of all senders between two of its own, and those that are kept are drawn with priorities.
  samplers_.fill(Sampler(kRecentSamples));
  watchedSamplers_.fill(Sampler(kWatchedSamples));
}

void Shard::countFrames(std::span<const Frame> frames, Link link) {
  for (; frames.size() > kBatch; frames = frames.subspan(kBatch)) countBatch(frames.first(kBatch), link);
  countBatch(frames, link);
}

/// Three passes, so that the cache misses of a whole batch run side by side: where is the slot, where is the row,
/// count.
void Shard::countBatch(std::span<const Frame> frames, Link link) {
  observe();
  StatDelta delta{};
  const std::span<Pending> batch = std::span(pending_).first(parseBatch(frames, link, delta));
  const std::size_t directions = countsOutgoing_ ? 2 : 1;
  for (Pending& pending : batch) {
    for (std::size_t d = 0; d < directions; d++) {
      const std::uint32_t row = index_.candidate(pending.hash[d]);
      pending.candidate[d] = row;
      if (row == kNoRow) continue;
      __builtin_prefetch(&rows_.hot(row), 1);
      if (d == out) __builtin_prefetch(&rows_.outgoing(row), 1);
    }
  }
  if (samplingRate_ == 1) [[likely]] {
    for (const Pending& pending : batch) countPending(pending, link, delta);
  } else {
    for (const Pending& pending : batch) countSampled(pending, link, delta);
  }
  publish(delta);
}

std::size_t Shard::parseBatch(std::span<const Frame> frames, Link link, StatDelta& delta) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < frames.size(); i++) {
    if (i + kParseAhead < frames.size()) __builtin_prefetch(frames[i + kParseAhead].data);
    Pending& pending = pending_[count];
    delta[kReceivedBytes] += frames[i].wire;
    ParseError error = parsePacket(frames[i], link, pending.packet, wanted_);
    if (pending.packet.inside != Encapsulation::none || pending.packet.innerAt != 0) [[unlikely]] {
      error = chooseLayer(frames[i], link, pending.packet, error, delta);
    }
    if (error != ParseError::none) {
      delta[kErrors + static_cast<std::size_t>(error)]++;
      if (error == ParseError::notIp) noteNotIp(frames[i], link, delta);
      continue;
    }
    pending.frame = &frames[i];
    pending.hash[in] = control_.hash.of(pending.packet.destination);
    index_.prefetch(pending.hash[in]);
    if (countsOutgoing_) {
      pending.hash[out] = control_.hash.of(pending.packet.source);
      index_.prefetch(pending.hash[out]);
    }
    pending.flow = control_.hash.ofFlow(pending.packet, pending.hash[in]);
    flows_.prefetch(pending.flow);
    count++;
  }
  delta[kReceivedPackets] += frames.size();
  return count;
}

bool Shard::isOurs(const Packet& packet) const noexcept {
  return networks_->match(packet.destination) != kNoPlace ||
         (countsOutgoing_ && networks_->match(packet.source) != kNoPlace);
}

/// For a packet in tunnels: a tunnel must not hide traffic to a host, so where a packet is in no network the one
/// around it counts.
ParseError Shard::chooseLayer(const Frame& frame, Link link, Packet& packet, ParseError error,
                              StatDelta& delta) const noexcept {
  if (packet.inside != Encapsulation::none) delta[kEncapsulated + static_cast<std::size_t>(packet.inside)]++;
  // Each one that is around another begins before it; the outermost is last.
  Decapsulation wanted = wanted_;
  for (std::uint8_t before = 0; packet.innerAt != before && error == ParseError::none && !isOurs(packet);) {
    wanted.before = before = packet.innerAt;
    error = parsePacket(frame, link, packet, wanted);
  }
  return error;
}

void Shard::noteNotIp(const Frame& frame, Link link, StatDelta& delta) noexcept {
  const std::uint16_t type = etherTypeOf(frame, link);
  delta[kNotIp + static_cast<std::size_t>(notIpKindOf(type))]++;
  etherTypes_.count(type);
}

namespace {

/// The frame as samples keep it: of a packet out of a tunnel that packet alone, so that the reader sees what was
/// counted.
struct SampledFrame {
  Frame frame;
  Link link;
};
SampledFrame sampledFrame(const Frame& frame, Link link, const Packet& packet) noexcept {
  if (packet.innerAt == 0) return {frame, link};
  return {{frame.data + packet.innerAt, frame.captured - packet.innerAt, packet.wire}, Link::rawIp};
}

}  // namespace

void Shard::countPending(const Pending& pending, Link link, StatDelta& delta) {
  const Packet& packet = pending.packet;
  serial_++;
  const Located to = locate(packet.destination, pending.hash[in], pending.candidate[in], 1);
  // Traffic to one of ours is not outgoing: anyone can send it in the name of another of ours; nor is incoming traffic.
  const Located from = to.isForeign() && mayBeOutgoing(*pending.frame, link)
                           ? locate(packet.source, pending.hash[out], pending.candidate[out], 1)
                           : Located{};
  if (to.isForeign() && from.isForeign()) {
    delta[kForeign]++;
    return;
  }
  delta[to.row != kNoRow || from.row != kNoRow ? kCounted : kUntracked]++;
  // A later fragment belongs to the flow of the first, which its own headers do not name.
  const bool isNewFlow = !packet.isLaterFragment && flows_.isNew(pending.flow, epoch_);
  if (to.row != kNoRow) {
    rows_.countIncoming(to.row, packet, isNewFlow);
  } else if (to.place != kNoPlace) {
    view_->count(Direction::incoming, to.place, packet, isNewFlow);
  }
  if (from.row != kNoRow) {
    countPacket(rows_.outgoing(from.row), packet, isNewFlow);
  } else if (from.place != kNoPlace) {
    view_->count(Direction::outgoing, from.place, packet, isNewFlow);
  }
  if (samplers_[FILTER_PASSED].takes()) {
    const Located& ours = isWatched(to) ? to : from;
    const std::uint32_t slot = isWatched(ours) ? rows_.cold(ours.row).watchSlot : kNoSlot;
    const auto [frame, begin] = sampledFrame(*pending.frame, link, packet);
    recent_.write(FILTER_PASSED, frame, begin, sampleWith(slot));
  }
  if (isFlagged(to)) [[unlikely]] {
    keepForFlagged(to.row, pending, link);
  }
  if (isWatched(from)) keepForWatched(rows_.cold(from.row).watchSlot, pending, link);
}

void Shard::keepForFlagged(std::uint32_t row, const Pending& pending, Link link) noexcept {
  if ((rows_.hot(row).epoch & HotRow::kWatched) != 0) {
    keepForWatched(rows_.cold(row).watchSlot, pending, link);
  } else if (profiles_.draws()) {
    const auto [frame, begin] = sampledFrame(*pending.frame, link, pending.packet);
    keepForProfile(row, frame, begin, 1);
  } else if (profiles_.isSpent()) {
    rows_.hot(row).epoch &= ~HotRow::kProfiled;
  }
}

Shard::Located Shard::locate(const Address& address, std::uint64_t hash, std::uint32_t candidate,
                             std::uint32_t packets) noexcept {
  if (candidate != kNoRow && rows_.addressOf(candidate) == address) [[likely]] {
    return found(candidate);
  }
  // The candidate was looked up before the packets ahead in the batch were counted, and by its tag alone.
  const std::uint32_t row = index_.find(hash, [&](std::uint32_t r) { return rows_.addressOf(r) == address; });
  return row != kNoRow ? found(row) : locateWithout(address, hash, packets);
}

Shard::Located Shard::found(std::uint32_t row) noexcept {
  if (rows_.hot(row).epoch == epoch_ || touch(row)) [[likely]] {
    return {row, kNoPlace};
  }
  return {};
}

/// For an address without a row: gives it one if it lies in the networks and may have one.
Shard::Located Shard::locateWithout(const Address& address, std::uint64_t hash, std::uint32_t packets) noexcept {
  const std::uint32_t place = networks_->match(address);
  if (place == kNoPlace) return {};
  freeEvicted(kFreedAtOnce);
  const std::uint32_t used = std::max(rowsInUse(), control_.trackedHosts.load(std::memory_order_relaxed));
  const Doorkeeper::Answer answer = doorkeeper_.ask(hash, {used, control_.maxHosts, hasFreeRow()}, packets);
  if (answer != Doorkeeper::Answer::admit) {
    if (answer == Doorkeeper::Answer::firstSeen) {
      refusedHosts_.store(refusedHosts_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return {kNoRow, place};
  }
  return {takeRow(address, hash), kNoPlace};
}

/// For a row whose epoch is not the present one: the first packet in this epoch, or a host with a flag. False when the
/// host has left the networks; its epoch then stays behind, so that every packet comes by here until the row is freed.
bool Shard::touch(std::uint32_t row) noexcept {
  HotRow& hot = rows_.hot(row);
  const std::uint32_t before = hot.epoch & kEpochMask;
  if (before == epoch_) return true;
  // A row that was touched since these networks hold lies in them.
  if (epochsSince(before, epoch_) > epochsSince(networksSince_, epoch_) && networks_->match(hot.key) == kNoPlace) {
    return false;
  }
  hot.epoch = epoch_ | (hot.epoch & ~kEpochMask);
  handover_.push(row);
  if (profiles_.isTurnOf(row)) [[unlikely]] {
    considerProfile(row);
  }
  return true;
}

void Shard::keepForWatched(std::uint32_t slot, const Pending& pending, Link link) noexcept {
  const auto [frame, begin] = sampledFrame(*pending.frame, link, pending.packet);
  keepForWatched(slot, frame, begin);
}

void Shard::keepForWatched(std::uint32_t slot, const Frame& frame, Link link, std::uint8_t verdict,
                           std::uint64_t packets) noexcept {
  if (!watchedSamplers_[slot].takes(packets)) return;
  watchedRings_.write(slot, frame, link, sampleWith(slot, verdict, packets));
}

/// A packet of a watched host has two chances to be kept, and is handed over once.
Sample Shard::sampleWith(std::uint32_t slot, std::uint8_t verdict, std::uint64_t packets) const noexcept {
  double chance = samplers_[filter_outcome_of(verdict)].chanceOf(packets);
  if (slot != kNoSlot) chance += (1 - chance) * watchedSamplers_[slot].chanceOf(packets);
  Sample sample;
  sample.serial = serial_;
  sample.epoch = epoch_;
  sample.standsFor =
      static_cast<std::uint32_t>(std::min(std::round(static_cast<double>(packets) / chance), 4294967295.0));
  sample.verdict = verdict & 0x7f;  // All bits that it has.
  return sample;
}

void Shard::publish(const StatDelta& delta) noexcept {
  for (std::size_t i = 0; i < kStats; i++) {
    if (delta[i] == 0) continue;
    stats_[i].store(stats_[i].load(std::memory_order_relaxed) + delta[i], std::memory_order_relaxed);
  }
}

void Shard::addHostCounts(const Address& address, Direction direction, const Counters& delta) {
  observe();
  const std::uint64_t packets = packetsOf(delta);
  const std::uint64_t hash = control_.hash.of(address);
  const bool isCounted = direction == Direction::incoming || control_.countOutgoing;
  const Located at = isCounted ? locate(address, hash, index_.candidate(hash),
                                        static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, 1U << 20)))
                               : Located{};
  StatDelta stats{};
  stats[kReceivedPackets] = packets;
  stats[kReceivedBytes] = bytesOf(delta);
  stats[at.row != kNoRow ? kCounted : at.place != kNoPlace ? kUntracked : kForeign] = packets;
  publish(stats);
  if (at.row == kNoRow) {
    if (at.place != kNoPlace) view_->add(direction, at.place, delta);
  } else if (direction == Direction::incoming) {
    rows_.addIncoming(at.row, delta);
  } else {
    addCounters(rows_.outgoing(at.row), delta);
  }
}

void Shard::addNetworkCounts(std::uint32_t network, Direction direction, const Counters& delta) {
  observe();
  const bool isCounted = direction == Direction::incoming || control_.countOutgoing;
  const std::uint32_t place = isCounted ? networks_->placeOfNetwork(network) : kNoPlace;
  StatDelta stats{};
  stats[kReceivedPackets] = packetsOf(delta);
  stats[kReceivedBytes] = bytesOf(delta);
  stats[place != kNoPlace ? kUntracked : kForeign] = packetsOf(delta);
  publish(stats);
  if (place != kNoPlace) view_->add(direction, place, delta);
}

void Shard::addOutcomes(const ShardStats& delta) {
  StatDelta stats{};
  stats[kReceivedBytes] = delta.receivedBytes;
  stats[kCounted] = delta.countedPackets;
  stats[kUntracked] = delta.untrackedPackets;
  stats[kForeign] = delta.foreignPackets;
  stats[kReceivedPackets] = delta.countedPackets + delta.untrackedPackets + delta.foreignPackets;
  for (std::size_t i = 0; i < kParseErrors; i++) {
    stats[kErrors + i] = delta.parseErrors[i];
    stats[kReceivedPackets] += delta.parseErrors[i];
  }
  for (std::size_t i = 0; i < kEncapsulations; i++) stats[kEncapsulated + i] = delta.encapsulated[i];
  publish(stats);
}

void Shard::addSample(const Frame& frame, Link link, std::uint8_t verdict, std::uint32_t every) {
  observe();
  Packet packet;
  if (parsePacket(frame, link, packet) != ParseError::none) return;
  const auto isOurs = [&](const Address& address) { return networks_->match(address) != kNoPlace; };
  const bool isIncoming = isOurs(packet.destination);
  if (!isIncoming && !(mayBeOutgoing(frame, link) && isOurs(packet.source))) return;
  // As in countPending().
  const Address& ours = isIncoming ? packet.destination : packet.source;
  serial_++;
  const filter_outcome outcome = filter_outcome_of(verdict);
  if (samplers_[outcome].takes(every)) {
    const std::uint32_t slot = watchedHosts_->slotOf(ours);
    recent_.write(outcome, frame, link, sampleWith(slot, verdict, every));
  }
  if (const std::uint32_t slot = watchedHosts_->slotOf(ours); slot != kNoSlot) {
    keepForWatched(slot, frame, link, verdict, every);
  }
  const std::uint32_t row = index_.find(control_.hash.of(packet.destination),
                                        [&](std::uint32_t r) { return rows_.addressOf(r) == packet.destination; });
  // The kernel drew it.
  if (row != kNoRow && (rows_.hot(row).epoch & HotRow::kProfiled) != 0) keepForProfile(row, frame, link, 1);
}

void Shard::commitMemory() const noexcept {
  constexpr std::size_t kStart = std::size_t{2} << 20;
  flows_.commit();
  index_.commit(kStart);
  rows_.commit(kStart);
  handover_.commit(kStart);
  recent_.commitFirst();
}

std::size_t Shard::residentBytes() const {
  return handover_.residentBytes() + rows_.residentBytes() + index_.residentBytes() + flows_.residentBytes() +
         evictions_.residentBytes() + leaving_.residentBytes() + doorkeeper_.residentBytes() + recent_.residentBytes() +
         watchedRings_.residentBytes() + profiles_.residentBytes() + spread_.residentBytes() + sizeof *this;
}

}  // namespace floodwall
