#include "count/spread_pool.h"

#include <algorithm>
#include <cmath>

namespace floodwall {
namespace {

/// Ends that are so near to one another are one: no tick is shorter.
constexpr std::int32_t kSameEndMs = 20;
/// Additions of records without sense stay finite.
constexpr double kVarianceMost = 1e36;

/// Times wrap around; all that are compared lie within hours.
std::int32_t msFrom(std::uint32_t from, std::uint32_t to) noexcept { return static_cast<std::int32_t>(to - from); }

float sumOf(const SpreadPool::Entry& entry) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < entry.endCount; i++) sum += entry.ends.at(i).perMs;
  return sum;
}

/// Two parts of a rate as one: as many packets, until the mean of their ends.
SpreadPool::End merged(const SpreadPool::End& a, const SpreadPool::End& b) noexcept {
  const float perMs = a.perMs + b.perMs;
  const float share = perMs > 0 ? b.perMs / perMs : 0;
  const auto laterMs = static_cast<std::int32_t>(std::lround(static_cast<float>(msFrom(a.atMs, b.atMs)) * share));
  return {a.atMs + static_cast<std::uint32_t>(laterMs), perMs};
}

}  // namespace

SpreadPool::SpreadPool(const Limits& limits)
    : entries_(limits.entries),
      rowHeads_{LazyArray<std::uint32_t>(limits.rows),
                LazyArray<std::uint32_t>(limits.countOutgoing ? limits.rows : 0)},
      placeHeads_{LazyArray<std::uint32_t>(limits.places, Pages::small),
                  LazyArray<std::uint32_t>(limits.countOutgoing ? limits.places : 0, Pages::small)} {}

std::uint32_t& SpreadPool::headOf(const Owner& owner, Direction direction) const noexcept {
  const auto& heads = owner.kind == OwnerKind::row ? rowHeads_ : placeHeads_;
  return heads[static_cast<std::size_t>(direction)][owner.number];
}

bool SpreadPool::add(const Owner& owner, const Address& address, Direction direction, const Kind& kind,
                     const Amount& amount, std::uint32_t durationMs) noexcept {
  std::uint32_t& head = headOf(owner, direction);
  Entry* entry = nullptr;
  for (std::uint32_t at = head; at != 0 && entry == nullptr; at = entries_[at - 1].next) {
    if (entries_[at - 1].kind == kind) entry = &entries_[at - 1];
  }
  if (entry == nullptr) {
    entry = newEntry(owner, direction, head);
    if (entry == nullptr) return false;
    entry->address = address;
    entry->kind = kind;
  }
  settle(*entry);
  addEnd(*entry, {atMs_ + durationMs, static_cast<float>(amount.packets) / static_cast<float>(durationMs)});
  entry->packets += amount.packets;
  entry->bytes += amount.bytes;
  entry->packetVariance += static_cast<float>(std::min(amount.variance.packets, kVarianceMost));
  entry->byteVariance += static_cast<float>(std::min(amount.variance.bytes, kVarianceMost));
  return true;
}

SpreadPool::Entry* SpreadPool::newEntry(const Owner& owner, Direction direction, std::uint32_t& head) noexcept {
  std::uint32_t at = freeEntry_;
  if (at != 0) {
    freeEntry_ = entries_[at - 1].next;
  } else {
    if (used_ == entries_.size()) return nullptr;
    at = ++used_;
  }
  Entry& entry = entries_[at - 1];
  entry = {};
  entry.atMs = atMs_;
  entry.owner = owner.number;
  entry.ownerKind = owner.kind;
  entry.direction = static_cast<std::uint8_t>(direction);
  entry.isInUse = true;
  entry.next = head;
  head = at;
  inUse_++;
  return &entry;
}

void SpreadPool::addEnd(Entry& entry, const End& end) noexcept {
  std::size_t at = entry.endCount;
  while (at != 0 && msFrom(end.atMs, entry.ends.at(at - 1).atMs) > 0) at--;
  if (at != 0 && msFrom(entry.ends.at(at - 1).atMs, end.atMs) < kSameEndMs) {
    entry.ends.at(at - 1) = merged(entry.ends.at(at - 1), end);
  } else if (entry.endCount < kEndsMax) {
    for (std::size_t i = entry.endCount++; i > at; i--) entry.ends.at(i) = entry.ends.at(i - 1);
    entry.ends.at(at) = end;
  } else {
    mergeEnds(entry);
    return addEnd(entry, end);
  }
  entry.perMs = sumOf(entry);
}

void SpreadPool::mergeEnds(Entry& entry) noexcept {
  std::size_t best = 0;
  float least = 0;
  for (std::size_t i = 0; i + 1 < entry.endCount; i++) {
    const End &a = entry.ends.at(i), &b = entry.ends.at(i + 1);
    const float moved = std::min(a.perMs, b.perMs) * static_cast<float>(msFrom(a.atMs, b.atMs));
    if (i != 0 && moved >= least) continue;
    least = moved;
    best = i;
  }
  entry.ends.at(best) = merged(entry.ends.at(best), entry.ends.at(best + 1));
  entry.endCount--;
  for (std::size_t i = best + 1; i < entry.endCount; i++) entry.ends.at(i) = entry.ends.at(i + 1);
}

void SpreadPool::setTime(std::uint64_t nowMs) noexcept {
  if (hasTime_ && nowMs > lastMs_) atMs_ += static_cast<std::uint32_t>(nowMs - lastMs_);
  if (!hasTime_ || nowMs > lastMs_) lastMs_ = nowMs;
  hasTime_ = true;
}

void SpreadPool::settle(Entry& entry) const noexcept {
  std::uint32_t from = entry.atMs;
  std::size_t over = 0;
  for (; over < entry.endCount && msFrom(entry.ends.at(over).atMs, atMs_) >= 0; over++) {
    const End& end = entry.ends.at(over);
    if (msFrom(from, end.atMs) > 0) {
      entry.due += entry.perMs * static_cast<float>(msFrom(from, end.atMs));
      from = end.atMs;
    }
    entry.perMs -= end.perMs;
  }
  entry.due += entry.perMs * static_cast<float>(msFrom(from, atMs_));
  entry.atMs = atMs_;
  if (over == 0) return;
  entry.endCount = static_cast<std::uint8_t>(entry.endCount - over);
  for (std::size_t i = 0; i < entry.endCount; i++) entry.ends.at(i) = entry.ends.at(i + over);
  entry.perMs = sumOf(entry);
}

Amount SpreadPool::take(Entry& entry) const noexcept {
  settle(entry);
  Amount amount;
  if (entry.endCount == 0 || entry.due >= static_cast<float>(entry.packets)) {
    amount = {entry.packets, entry.bytes, 0, {entry.packetVariance, entry.byteVariance}};
    entry.packets = entry.bytes = 0;
    return amount;
  }
  if (entry.due < 1) return amount;
  // Whole packets, and bytes and variances in proportion; what is left over comes with the last.
  amount.packets = static_cast<std::uint64_t>(entry.due);
  const double share = static_cast<double>(amount.packets) / static_cast<double>(entry.packets);
  amount.bytes = std::min(static_cast<std::uint64_t>(static_cast<double>(entry.bytes) * share), entry.bytes);
  amount.variance = {static_cast<double>(entry.packetVariance) * share,
                     static_cast<double>(entry.byteVariance) * share};
  entry.packets -= amount.packets;
  entry.bytes -= amount.bytes;
  entry.packetVariance -= static_cast<float>(amount.variance.packets);
  entry.byteVariance -= static_cast<float>(amount.variance.bytes);
  entry.due -= static_cast<float>(amount.packets);
  return amount;
}

void SpreadPool::free(std::uint32_t at) noexcept {
  Entry& entry = entries_[at];
  if (entry.ownerKind != OwnerKind::address) {
    std::uint32_t* link = &headOf({entry.ownerKind, entry.owner}, static_cast<Direction>(entry.direction));
    while (*link != at + 1) link = &entries_[*link - 1].next;
    *link = entry.next;
  }
  entry.isInUse = false;
  entry.next = freeEntry_;
  freeEntry_ = at + 1;
  inUse_--;
  if (inUse_ != 0) return;
  // As new, so that a round is short again.
  used_ = freeEntry_ = hand_ = 0;
}

void SpreadPool::leaveRow(std::uint32_t row) noexcept {
  for (const auto& heads : rowHeads_) {
    if (inUse_ == 0 || heads.size() == 0) continue;
    for (std::uint32_t at = heads[row]; at != 0; at = entries_[at - 1].next) {
      entries_[at - 1].ownerKind = OwnerKind::address;
    }
    heads[row] = 0;
  }
}

bool SpreadPool::hasRow(std::uint32_t row) const noexcept {
  if (inUse_ == 0) return false;
  return rowHeads_[0][row] != 0 || (rowHeads_[1].size() != 0 && rowHeads_[1][row] != 0);
}

void SpreadPool::leavePlaces() noexcept {
  for (std::uint32_t at = 0; inUse_ != 0 && at < used_; at++) {
    Entry& entry = entries_[at];
    if (!entry.isInUse || entry.ownerKind != OwnerKind::place) continue;
    headOf({entry.ownerKind, entry.owner}, static_cast<Direction>(entry.direction)) = 0;
    entry.ownerKind = OwnerKind::address;
  }
}

std::size_t SpreadPool::residentBytes() const {
  std::size_t bytes = entries_.residentBytes();
  for (std::size_t d = 0; d < 2; d++) bytes += rowHeads_[d].residentBytes() + placeHeads_[d].residentBytes();
  return bytes;
}

}  // namespace floodwall
