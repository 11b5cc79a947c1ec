#include "filter/pair_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace floodwall {
namespace {

bool isSame(const ip_address& one, const ip_address& other) {
  return one.halves[0] == other.halves[0] && one.halves[1] == other.halves[1];
}

}  // namespace

PairTable::PairTable(const FilterMaps& maps)
    : head_(maps.head()), pairs_(maps.pairs()), rows_(maps.pairRows()), bits_(maps.pairBits(), head_.pair_groups) {
  repair();
}

std::uint64_t PairTable::hashOf(const PairKey& key) const {
  return filter_pair_hash(&key.source, &key.victim, head_.seed);
}

std::optional<std::uint32_t> PairTable::find(const PairKey& key) const {
  const std::uint64_t hash = hashOf(key);
  return bits_.mayHave(hash) ? findFrom(hash, key) : std::nullopt;
}

std::optional<std::uint32_t> PairTable::findFrom(std::uint64_t hash, const PairKey& key) const {
  return firstRow(hash, head_.pair_reach, [&](std::uint32_t row) {
    return pairs_[row].expires != 0 && isSame(rows_[row].key.source, key.source) &&
           isSame(rows_[row].key.victim, key.victim);
  });
}

std::uint32_t PairTable::distanceOf(std::uint64_t hash, std::uint32_t row) const {
  return row / FILTER_GROUP_PAIRS - filter_home_of(hash, head_.pair_groups);
}

/// Rows say all. One that the kernel cannot find, or a second one of a pair, is given up.
void PairTable::repair() {
  isFree_.assign(rows_.size(), true);
  head_.pair_reach = std::min(head_.pair_reach, FILTER_REACH_MAX);
  std::uint32_t used = 0, reach = 0;
  for (std::uint32_t row = 0; row < pairs_.size(); row++) {
    if (pairs_[row].expires == 0) continue;
    const PairKey key = rows_[row].key;
    const std::uint64_t hash = hashOf(key);
    const std::uint32_t distance = distanceOf(hash, row);
    if (distance > head_.pair_reach || findFrom(hash, key) != row) {
      giveUp(row);
      continue;
    }
    setExpiry(row, rows_[row].expires_at_ns);
    isFree_[row] = false;
    bits_.add(hash);
    reach = std::max(reach, distance);
    used++;
  }
  bits_.clearOthers();
  __atomic_store_n(&head_.pair_reach, reach, __ATOMIC_RELEASE);
  setSize(used);
}

void PairTable::put(std::span<const PairKey> keys, std::span<const std::uint64_t> expiresAtNs) {
  std::vector<PairKey> added;
  std::vector<std::uint32_t> rows;
  rows.reserve(keys.size());
  const auto undone = [&](const std::string& text) {
    remove(added);
    return FilterError(text);
  };
  for (std::size_t i = 0; i < keys.size(); i++) {
    if (const auto known = find(keys[i])) {
      rows.push_back(*known);
      continue;
    }
    if (size_ >= head_.pairs_max) {
      throw undone("no room for more than " + std::to_string(head_.pairs_max) +
                   " source blocks in the kernel: remove some, or let them expire");
    }
    const auto row = add(keys[i], expiresAtNs[i]);
    if (!row) {
      throw undone("the kernel's table of source blocks has no place for one more: remove some, or let them expire");
    }
    added.push_back(keys[i]);
    rows.push_back(*row);
  }
  for (std::size_t i = 0; i < rows.size(); i++) {
    setExpiry(rows[i], expiresAtNs[i]);
  }
}

/// Where the same pairs come and go all the time, a row is used again earlier than others.
std::optional<std::uint32_t> PairTable::takeRow(std::uint64_t hash) {
  const auto free = firstRow(hash, FILTER_REACH_MAX, [&](std::uint32_t row) { return isFree_[row]; });
  if (free) return free;
  const auto left = std::find_if(leftAlone_.begin(), leftAlone_.end(),
                                 [&](std::uint32_t row) { return distanceOf(hash, row) <= FILTER_REACH_MAX; });
  if (left == leftAlone_.end()) return std::nullopt;
  const std::uint32_t row = *left;
  leftAlone_.erase(left);
  return row;
}

std::optional<std::uint32_t> PairTable::add(const PairKey& key, std::uint64_t expiresAtNs) {
  const std::uint64_t hash = hashOf(key);
  const auto free = takeRow(hash);
  if (!free) return std::nullopt;
  const std::uint32_t row = *free;
  rows_[row] = {.key = key, .expires_at_ns = expiresAtNs, .hits = {}};
  filter_pair& pair = pairs_[row];
  pair.source = key.source.words[3];
  pair.victim = key.victim.words[3];
  pair.held = 0;
  isFree_[row] = false;
  bits_.add(hash);
  const std::uint32_t distance = distanceOf(hash, row);
  if (distance > head_.pair_reach) __atomic_store_n(&head_.pair_reach, distance, __ATOMIC_RELEASE);
  setExpiry(row, expiresAtNs);
  setSize(size_ + 1);
  return row;
}

void PairTable::remove(std::span<const PairKey> keys) {
  for (const PairKey& key : keys) {
    if (const auto row = find(key)) removeRow(*row);
  }
}

void PairTable::removeRow(std::uint32_t row) {
  const std::uint64_t hash = hashOf(rows_[row].key);
  giveUp(row);
  bits_.remove(hash);
  leftAlone_.push_back(row);
  if (leftAlone_.size() > kLeftAlone) {
    isFree_[leftAlone_.front()] = true;
    leftAlone_.pop_front();
  }
  setSize(size_ - 1);
}

void PairTable::sweep(std::uint64_t nowNs) {
  if (size_ == 0) return;
  for (std::uint32_t row = 0; row < pairs_.size(); row++) {
    if (pairs_[row].expires != 0 && rows_[row].expires_at_ns <= nowNs) removeRow(row);
  }
}

/// The kernel sees the pair from now on, which is whole.
void PairTable::setExpiry(std::uint32_t row, std::uint64_t expiresAtNs) {
  const PairKey& key = rows_[row].key;
  __atomic_store_n(&rows_[row].expires_at_ns, expiresAtNs, __ATOMIC_RELAXED);
  const std::uint32_t coarse = filter_coarse_expiry(expiresAtNs, filter_is_ipv4_pair(&key.source, &key.victim));
  __atomic_store_n(&pairs_[row].expires, coarse, __ATOMIC_RELEASE);
}

void PairTable::giveUp(std::uint32_t row) {
  __atomic_store_n(&pairs_[row].expires, std::uint32_t{0}, __ATOMIC_RELAXED);
}

void PairTable::setSize(std::uint32_t size) {
  size_ = size;
  __atomic_store_n(&head_.pairs, size, __ATOMIC_RELEASE);
}

}  // namespace floodwall
