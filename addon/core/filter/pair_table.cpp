#include "filter/pair_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace floodwall {
namespace {

bool isSame(const inline_address& one, const inline_address& other) {
  return one.halves[0] == other.halves[0] && one.halves[1] == other.halves[1];
}

}  // namespace

PairTable::PairTable(const FilterMaps& maps)
    : head_(maps.head()),
      buckets_(maps.pairBuckets()),
      rows_(maps.pairs()),
      keys_(maps.pairKeys()),
      hits_(maps.pairHits()),
      table_(buckets_),
      bits_(maps.pairBits(), head_.pair_rows) {
  repair();
}

std::uint64_t PairTable::hashOf(const PairKey& key) const {
  return filter_pair_hash(&key.source, &key.victim, head_.seed);
}

std::optional<std::uint32_t> PairTable::find(const PairKey& key) const {
  return table_.find(hashOf(key), [&](std::uint32_t row) {
    return row < rows_.size() && isSame(keys_[row].source, key.source) && isSame(keys_[row].victim, key.victim);
  });
}

/// The ways say which rows are in use. A way that names a row a second time, or the row of another pair, is ignored.
void PairTable::repair() {
  std::vector<bool> isUsed(rows_.size());
  std::vector<std::uint32_t> elsewhere(buckets_.size());
  for (std::uint32_t bucket = 0; bucket < buckets_.size(); bucket++) {
    for (std::uint32_t& way : buckets_[bucket].ways) {
      if (way == 0) continue;
      const std::uint32_t row = (way & ~FILTER_TAG_MASK) - 1;
      const bool isKnown = row < rows_.size() && !isUsed[row] && rows_[row].expires_at_ns != 0;
      const std::uint64_t hash = isKnown ? hashOf(keys_[row]) : 0;
      if (!isKnown || !table_.isPlace(hash, bucket)) {
        way = 0;
        continue;
      }
      isUsed[row] = true;
      bits_.add(hash);
      if (table_.first(hash) != bucket) elsewhere[table_.first(hash)]++;
    }
  }
  // Left alone where they are right: the kernel goes on dropping meanwhile.
  for (std::uint32_t bucket = 0; bucket < buckets_.size(); bucket++) {
    if (buckets_[bucket].elsewhere != elsewhere[bucket]) buckets_[bucket].elsewhere = elsewhere[bucket];
  }
  std::uint32_t used = 0;
  for (std::uint32_t row = 0; row < rows_.size(); row++) {
    if (isUsed[row]) {
      used++;
    } else {
      rows_[row].expires_at_ns = 0;
    }
  }
  bits_.clearOthers();
  isFree_ = std::move(isUsed);
  isFree_.flip();
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

/// There is one: rows are more than the bound of pairs and kLeftAlone together.
std::uint32_t PairTable::freeRow(std::uint64_t hash) {
  const std::uint32_t home = filter_home_of(hash, head_.pair_rows);
  if (isFree_[home]) return home;
  if (isFree_[home + 1]) return home + 1;
  while (!isFree_[nextRow_]) nextRow_ = nextRow_ + 1 < isFree_.size() ? nextRow_ + 1 : 0;
  return nextRow_;
}

std::optional<std::uint32_t> PairTable::add(const PairKey& key, std::uint64_t expiresAtNs) {
  const std::uint64_t hash = hashOf(key);
  const std::uint32_t row = freeRow(hash);
  keys_[row] = key;
  rows_[row] = {.source = key.source.words[3],
                .victim = key.victim.words[3],
                .expires_at_ns = 0,
                .owned_packets = 0,
                .owned_bytes = 0};
  hits_[row] = {};
  if (!table_.insert(hash, row)) return std::nullopt;
  isFree_[row] = false;
  bits_.add(hash);
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
  const std::uint64_t hash = hashOf(keys_[row]);
  table_.erase(hash, row);
  __atomic_store_n(&rows_[row].expires_at_ns, std::uint64_t{0}, __ATOMIC_RELAXED);
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
  for (std::uint32_t row = 0; row < rows_.size(); row++) {
    if (rows_[row].expires_at_ns != 0 && rows_[row].expires_at_ns <= nowNs) removeRow(row);
  }
}

/// The kernel sees the row from now on, which is whole.
void PairTable::setExpiry(std::uint32_t row, std::uint64_t expiresAtNs) {
  const bool isIpv4 = filter_is_ipv4_pair(&keys_[row].source, &keys_[row].victim);
  // Not 0, which would give the row up.
  const std::uint64_t expiry = std::max(expiresAtNs, std::uint64_t{2}) & ~FILTER_PAIR_IPV6;
  __atomic_store_n(&rows_[row].expires_at_ns, expiry | (isIpv4 ? 0 : FILTER_PAIR_IPV6), __ATOMIC_RELEASE);
}

void PairTable::setSize(std::uint32_t size) {
  size_ = size;
  __atomic_store_n(&head_.pairs, size, __ATOMIC_RELEASE);
}

}  // namespace floodwall
