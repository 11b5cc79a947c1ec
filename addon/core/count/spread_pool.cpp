#include "count/spread_pool.h"

#include <algorithm>
#include <bit>

namespace floodwall {
namespace {

constexpr unsigned kLengths = 6;

}  // namespace

SpreadPool::SpreadPool(const Limits& limits)
    : entries_(limits.entries),
      rowHeads_{LazyArray<std::uint32_t>(limits.rows),
                LazyArray<std::uint32_t>(limits.countOutgoing ? limits.rows : 0)},
      placeHeads_{LazyArray<std::uint32_t>(limits.places, Pages::small),
                  LazyArray<std::uint32_t>(limits.countOutgoing ? limits.places : 0, Pages::small)} {}

/// Up to 4 s, 16 s, about a minute, 4 minutes, 17 minutes, and longer: the usual active timeouts are in two of them.
std::uint8_t SpreadPool::lengthOf(std::uint32_t durationMs) noexcept {
  const auto quarters = static_cast<unsigned>(std::bit_width(durationMs / 4096) + 1) / 2;
  return static_cast<std::uint8_t>(std::min(quarters, kLengths - 1));
}

std::uint32_t& SpreadPool::headOf(const Owner& owner, Direction direction) const noexcept {
  const auto& heads = owner.kind == OwnerKind::row ? rowHeads_ : placeHeads_;
  return heads[static_cast<std::size_t>(direction)][owner.number];
}

bool SpreadPool::add(const Owner& owner, const Address& address, Direction direction, const Kind& kind,
                     const Amount& amount, std::uint32_t durationMs) noexcept {
  std::uint32_t& head = headOf(owner, direction);
  const std::uint8_t length = lengthOf(durationMs);
  Entry* entry = nullptr;
  for (std::uint32_t at = head; at != 0 && entry == nullptr; at = entries_[at - 1].next) {
    if (entries_[at - 1].length == length && entries_[at - 1].kind == kind) entry = &entries_[at - 1];
  }
  if (entry == nullptr) {
    std::uint32_t at = freeEntry_;
    if (at != 0) {
      freeEntry_ = entries_[at - 1].next;
    } else {
      if (used_ == entries_.size()) return false;
      at = ++used_;
    }
    entry = &entries_[at - 1];
    *entry = {};
    entry->address = address;
    entry->atMs = atMs_;
    entry->owner = owner.number;
    entry->next = head;
    entry->kind = kind;
    entry->ownerKind = owner.kind;
    entry->direction = static_cast<std::uint8_t>(direction);
    entry->length = length;
    entry->isInUse = true;
    head = at;
    inUse_++;
  }
  settle(*entry);
  const double before = std::max(static_cast<double>(entry->packets) - static_cast<double>(entry->due), 0.0);
  const auto added = static_cast<double>(amount.packets);
  entry->leftMs = static_cast<float>((before * static_cast<double>(entry->leftMs) + added * durationMs) /
                                     std::max(before + added, 1.0));
  entry->packets += amount.packets;
  entry->bytes += amount.bytes;
  constexpr double kMost = 1e36;
  entry->packetVariance += static_cast<float>(std::min(amount.variance.packets, kMost));
  entry->byteVariance += static_cast<float>(std::min(amount.variance.bytes, kMost));
  return true;
}

void SpreadPool::setTime(std::uint64_t nowMs) noexcept {
  if (hasTime_ && nowMs > lastMs_) atMs_ += static_cast<std::uint32_t>(nowMs - lastMs_);
  if (!hasTime_ || nowMs > lastMs_) lastMs_ = nowMs;
  hasTime_ = true;
}

void SpreadPool::settle(Entry& entry) const noexcept {
  const auto passedMs = static_cast<float>(atMs_ - entry.atMs);
  entry.atMs = atMs_;
  if (passedMs >= entry.leftMs) {
    entry.due = static_cast<float>(entry.packets);
    entry.leftMs = 0;
    return;
  }
  const float waiting = std::max(static_cast<float>(entry.packets) - entry.due, 0.0F);
  entry.due += waiting * (passedMs / entry.leftMs);
  entry.leftMs -= passedMs;
}

Amount SpreadPool::take(Entry& entry) const noexcept {
  settle(entry);
  Amount amount;
  if (entry.leftMs <= 0 || entry.due >= static_cast<float>(entry.packets)) {
    amount = {entry.packets, entry.bytes, 0, {entry.packetVariance, entry.byteVariance}};
    entry.packets = entry.bytes = 0;
    return amount;
  }
  if (entry.due < 1) return amount;
  // Whole packets, and bytes and variances in proportion; what is left over comes with the last.
  amount.packets = std::min(static_cast<std::uint64_t>(entry.due), entry.packets);
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
