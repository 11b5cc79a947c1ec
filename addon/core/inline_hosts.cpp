#include "inline_hosts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>

namespace floodwall {
namespace {

constexpr std::size_t kChunkBytes = 1U << 20;
/// Removed in one reading at most: each costs a system call.
constexpr std::size_t kLeavingMost = 65'536;
/// The kernel compares its count of hosts with the bound roughly while several CPUs add hosts.
constexpr std::uint32_t kOvershoot = 1024;
/// In a table that is three quarters full a host that is quiet for so long makes room.
constexpr std::uint32_t kCrowdedIdleMs = 2'000;

Address addressOf(const inline_address& key) {
  Address address;
  std::copy(std::begin(key.bytes), std::end(key.bytes), address.bytes.begin());
  return address;
}

}  // namespace

InlineHosts::InlineHosts(int mapFd, Direction direction, std::uint32_t maxHosts, std::uint32_t idleMs)
    : mapFd_(mapFd),
      direction_(direction),
      maxHosts_(maxHosts),
      idleMs_(idleMs),
      cpus_(static_cast<std::size_t>(std::max(1, libbpf_num_possible_cpus()))),
      index_(maxHosts + kOvershoot),
      rows_(maxHosts + kOvershoot),
      keys_(std::max<std::size_t>(256, kChunkBytes / (cpus_ * sizeof(inline_counts)))),
      values_(keys_.size() * cpus_) {}

void InlineHosts::read(Shard& shard, std::uint64_t nowMs, const PrefixTable* networks) {
  nowMs_ = static_cast<std::uint32_t>(nowMs);
  isCrowded_ = found_ > maxHosts_ / 4 * 3;
  found_ = 0;
  leaving_.clear();
  std::uint32_t position = 0, next = 0;
  for (;;) {
    auto count = static_cast<std::uint32_t>(keys_.size());
    const int error = bpf_map_lookup_batch(mapFd_, &position, &next, keys_.data(), values_.data(), &count, nullptr);
    if (error == -ENOSPC) {
      // More hosts in one of the kernel's buckets than fit: the same place again, with more room.
      keys_.resize(keys_.size() * 2);
      values_.resize(keys_.size() * cpus_);
      continue;
    }
    if (error < 0 && error != -ENOENT) break;
    for (std::uint32_t i = 0; i < count; i++) readHost(shard, keys_[i], countsOf(i), networks);
    found_ += count;
    if (error == -ENOENT) break;
    position = next;
  }
  for (const std::uint32_t row : leaving_) remove(shard, row);
}

void InlineHosts::readHost(Shard& shard, const inline_address& key, const Counters& now, const PrefixTable* networks) {
  const Address address = addressOf(key);
  const std::uint64_t hash = hash_.of(address);
  std::uint32_t at = index_.find(hash, [&](std::uint32_t row) { return rows_[row].key == address; });
  if (at == kNoRow) at = takeRow(address, hash);
  if (at == kNoRow) return;
  handOver(shard, rows_[at], now);
  const bool isForeign = networks != nullptr && networks->match(address) == PrefixTable::kNone;
  if ((isForeign || isIdle(rows_[at])) && leaving_.size() < kLeavingMost) leaving_.push_back(at);
}

void InlineHosts::handOver(Shard& shard, Row& row, const Counters& now) {
  if (isSame(now, row.last)) return;
  shard.addHostCounts(row.key, direction_, difference(now, row.last));
  row.last = now;
  row.changedMs = nowMs_;
}

/// The kernel may have counted a last packet since the row was read: removing it tells.
void InlineHosts::remove(Shard& shard, std::uint32_t at) {
  Row& row = rows_[at];
  if (bpf_map_lookup_and_delete_elem(mapFd_, row.key.bytes.data(), values_.data()) == 0) {
    handOver(shard, row, countsOf(0));
  }
  index_.erase(hash_.of(row.key), at, [this](std::uint32_t other) { return hash_.of(rows_[other].key); });
  freeRows_.push_back(at);
}

bool InlineHosts::isIdle(const Row& row) const noexcept {
  return nowMs_ - row.changedMs >= (isCrowded_ ? std::min(idleMs_, kCrowdedIdleMs) : idleMs_);
}

std::uint32_t InlineHosts::takeRow(const Address& key, std::uint64_t hash) {
  std::uint32_t at = kNoRow;
  if (!freeRows_.empty()) {
    at = freeRows_.back();
    freeRows_.pop_back();
  } else if (usedRows_ < rows_.size()) {
    at = usedRows_++;
  } else {
    return kNoRow;
  }
  rows_[at] = {.key = key, .last = {}, .changedMs = nowMs_};
  index_.insert(hash, at);
  return at;
}

Counters InlineHosts::countsOf(std::size_t i) const noexcept {
  return sumOfCpus(std::span(values_).subspan(i * cpus_, cpus_));
}

}  // namespace floodwall
