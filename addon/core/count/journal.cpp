#include "count/journal.h"

#include <algorithm>

namespace floodwall {
namespace {

constexpr std::uint8_t kHasNewFlows = 1U << kClasses, kIsOutgoing = 1U << (kClasses + 1);

std::uint8_t* putNumber(std::uint8_t* at, std::uint64_t number) noexcept {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<std::uint8_t>(number | 0x80);
  *at++ = static_cast<std::uint8_t>(number);
  return at;
}

/// Reads only what putNumber wrote.
const std::uint8_t* getNumber(const std::uint8_t* at, std::uint64_t& number) noexcept {
  number = 0;
  unsigned shift = 0;
  for (; *at >= 0x80; at++, shift += 7) number |= static_cast<std::uint64_t>(*at & 0x7f) << shift;
  number |= static_cast<std::uint64_t>(*at++) << shift;
  return at;
}

std::uint8_t* encode(std::uint8_t* at, const JournalEntry& entry) noexcept {
  std::uint8_t* const header = at++;
  *header = entry.direction == Direction::outgoing ? kIsOutgoing : 0;
  at = putNumber(at, entry.host);
  const auto& counts = entry.totals.counts;
  for (std::size_t i = 0; i < kClasses; i++) {
    if (counts[i] == 0 && counts[Totals::kBytes + i] == 0) continue;
    *header = static_cast<std::uint8_t>(*header | 1U << i);
    at = putNumber(putNumber(at, counts[i]), counts[Totals::kBytes + i]);
  }
  if (counts[Totals::kNewFlows] != 0) {
    *header |= kHasNewFlows;
    at = putNumber(at, counts[Totals::kNewFlows]);
  }
  return at;
}

const std::uint8_t* decode(const std::uint8_t* at, JournalEntry& entry) noexcept {
  const std::uint8_t header = *at++;
  std::uint64_t host;
  at = getNumber(at, host);
  entry = {
      static_cast<std::uint32_t>(host), (header & kIsOutgoing) != 0 ? Direction::outgoing : Direction::incoming, {}};
  auto& counts = entry.totals.counts;
  for (std::size_t i = 0; i < kClasses; i++) {
    if ((header >> i & 1) != 0) at = getNumber(getNumber(at, counts[i]), counts[Totals::kBytes + i]);
  }
  if ((header & kHasNewFlows) != 0) at = getNumber(at, counts[Totals::kNewFlows]);
  return at;
}

}  // namespace

Journal::Journal(std::uint32_t buckets, std::size_t bytes)
    : chunks_(std::max<std::size_t>(bytes / sizeof(Chunk), buckets)), buckets_(buckets) {}

std::uint32_t Journal::newChunk() noexcept {
  std::uint32_t chunk = freeChunk_;
  if (chunk != kNoChunk) {
    freeChunk_ = chunks_[chunk].next;
  } else {
    if (usedChunks_ == chunks_.size()) return kNoChunk;
    chunk = usedChunks_++;
  }
  chunks_[chunk].next = kNoChunk;
  chunks_[chunk].used = 0;
  return chunk;
}

bool Journal::append(std::uint32_t bucket, const JournalEntry& entry) noexcept {
  Bucket& into = buckets_[bucket];
  if (into.last == kNoChunk || chunks_[into.last].used + kEntryBytesMax > chunks_[into.last].bytes.size()) {
    const std::uint32_t chunk = newChunk();
    if (chunk == kNoChunk) return false;
    (into.last == kNoChunk ? into.first : chunks_[into.last].next) = chunk;
    into.last = chunk;
  }
  Chunk& chunk = chunks_[into.last];
  std::uint8_t* const start = chunk.bytes.data();
  chunk.used = static_cast<std::uint32_t>(encode(start + chunk.used, entry) - start);
  return true;
}

std::size_t Journal::take(std::uint32_t bucket, std::vector<JournalEntry>& out) {
  Bucket& from = buckets_[bucket];
  out.clear();
  if (from.first == kNoChunk) return 0;
  const Chunk& chunk = chunks_[from.first];
  const std::uint8_t* const start = chunk.bytes.data();
  const std::uint8_t* at = start + from.taken;
  while (out.size() < kTaken && at < start + chunk.used) at = decode(at, out.emplace_back());
  from.taken = static_cast<std::uint32_t>(at - start);
  if (from.taken < chunk.used) return out.size();
  const std::uint32_t emptied = from.first;
  from.first = chunk.next;
  from.taken = 0;
  if (from.first == kNoChunk) from.last = kNoChunk;
  chunks_[emptied].next = freeChunk_;
  freeChunk_ = emptied;
  return out.size();
}

std::size_t Journal::read(Place& place, std::vector<JournalEntry>& out) const {
  out.clear();
  while (place.chunk != kNoChunk && out.empty()) {
    const Chunk& chunk = chunks_[place.chunk];
    const std::uint8_t* const start = chunk.bytes.data();
    const std::uint8_t* at = start + place.byte;
    while (out.size() < kTaken && at < start + chunk.used) at = decode(at, out.emplace_back());
    place.byte = static_cast<std::uint32_t>(at - start);
    if (place.byte == chunk.used) place = {chunk.next, 0};
  }
  return out.size();
}

}  // namespace floodwall
