#include "count/doorkeeper.h"

#include <algorithm>

namespace floodwall {
namespace {

/// Packets that an address must show in about a second: 8 when the table is half full, 64 when it is nearly full,
/// 128 when other hosts must make room.
std::uint32_t price(const Doorkeeper::Table& table) noexcept {
  const std::uint64_t eighths = std::uint64_t{table.used} * 8 / table.limit;
  return 8U << std::min<std::uint64_t>(eighths - std::min<std::uint64_t>(eighths, 4), 4);
}

}  // namespace

Doorkeeper::Answer Doorkeeper::ask(std::uint64_t hash, const Table& table, std::uint32_t packets) noexcept {
  if (table.used <= table.limit / 2 && table.hasFreeRow) return Answer::admit;
  isInUse_ = true;
  Set& set = sets_[(hash >> 8) % kSets];
  const auto tag = static_cast<std::uint32_t>(hash >> 32) & ~kCountMax;
  // The search starts anywhere, so that of several equals a random one makes room, not always the newest.
  const auto start = static_cast<std::uint32_t>(hash);
  std::uint32_t* least = &set.entries[start % kWays];
  for (std::uint32_t i = 0; i < kWays; i++) {
    std::uint32_t& entry = set.entries[(start + i) % kWays];
    const std::uint32_t count = entry & kCountMax;
    if ((entry & ~kCountMax) == tag && count != 0) {
      const std::uint32_t seen = std::min<std::uint32_t>(count + std::min(packets, kCountMax), kCountMax);
      entry = tag | seen;
      return seen >= price(table) && table.hasFreeRow ? Answer::admit : Answer::wait;
    }
    if (count < (*least & kCountMax)) least = &entry;
  }
  *least = tag | std::clamp<std::uint32_t>(packets, 1, kCountMax);
  return Answer::firstSeen;
}

void Doorkeeper::age(std::uint32_t n) noexcept {
  if (!isInUse_) return;
  const std::uint32_t share = std::max<std::uint32_t>(kSets / std::max<std::uint32_t>(n, 1), 1);
  for (std::uint32_t i = 0; i < share; i++) {
    for (std::uint32_t& entry : sets_[agedTo_].entries) {
      entry = (entry & ~kCountMax) | (entry & kCountMax) >> 1;
    }
    agedTo_ = (agedTo_ + 1) % kSets;
  }
}

}  // namespace floodwall
