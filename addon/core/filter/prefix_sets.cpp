#include "filter/prefix_sets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "filter/bucket_table.h"

namespace floodwall {
namespace {

std::uint32_t indexOf(filter_set_kind kind, std::uint32_t copy) {
  return static_cast<std::uint32_t>(kind) * FILTER_SET_COPIES + copy;
}

constexpr std::uint32_t kMappedBits = 96, kNearBits = 16, kFoldedBits = 32;
constexpr const char* kKindNames[FILTER_SETS] = {"the allowlist", "the protected whitelist", "dynamic rules",
                                                 "the operator's rules"};

bool isMapped(const ip_address& address) { return address.halves[0] == 0 && address.words[2] == htonl(0xffff); }

int compare(const SetPrefix& one, const SetPrefix& other) {
  if (one.length != other.length) return one.length > other.length ? -1 : 1;
  return std::memcmp(one.address.bytes, other.address.bytes, sizeof one.address.bytes);
}

void sort(std::vector<SetPrefix>& prefixes) {
  std::stable_sort(prefixes.begin(), prefixes.end(),
                   [](const SetPrefix& one, const SetPrefix& other) { return compare(one, other) < 0; });
}

bool isSame(const SetPrefix& one, const SetPrefix& other) { return compare(one, other) == 0; }

void markRange(__u64* bits, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t bit = first; bit < first + count; bit++) bits[bit / 64] |= __u64{1} << (bit % 64);
}

void markAll(__u64* bits) { std::fill_n(bits, 1024, ~__u64{0}); }

void markNear(filter_set& set, const SetPrefix& prefix) {
  if (isIpv4Prefix(prefix)) {
    const std::uint32_t length = std::min(prefix.length - kMappedBits, kNearBits);
    return markRange(set.near_ipv4, filter_near_ipv4(ntohl(prefix.address.words[3])), 1U << (kNearBits - length));
  }
  if (prefix.length < kNearBits) return markAll(set.near_ipv6);
  const std::uint32_t first = ntohl(prefix.address.words[0]);
  const std::uint32_t last = first | (prefix.length >= kFoldedBits ? 0 : ~0U >> prefix.length);
  for (std::uint64_t word = first; word <= last; word++) {
    markRange(set.near_ipv6, filter_near_ipv6(static_cast<std::uint32_t>(word)), 1);
  }
}

void addLength(filter_set& set, const SetPrefix& prefix) {
  const bool is4 = isIpv4Prefix(prefix);
  __u8* lengths = is4 ? set.ipv4 : set.ipv6;
  __u32& count = is4 ? set.lengths_ipv4 : set.lengths_ipv6;
  // Sorted by length: a new one differs from the last.
  if (count == 0 || lengths[count - 1] != prefix.length) lengths[count++] = static_cast<__u8>(prefix.length);
}

std::size_t roomOf(const filter_head& head, filter_set_kind kind) {
  if (kind == FILTER_OPERATOR_RULES) return FILTER_OPERATOR_ENTRIES;
  return kind == FILTER_RULES ? head.rules_max : head.prefixes_max;
}

void requireRoomFor(const FilterMaps& maps, filter_set_kind kind, std::span<const SetPrefix> prefixes) {
  const std::size_t most = roomOf(maps.head(), kind);
  const std::string name = kKindNames[kind];
  if (prefixes.size() > most) {
    throw FilterError("no room in the kernel for " + std::to_string(prefixes.size()) + " entries of " + name +
                      ", only " + std::to_string(most) + ": use fewer");
  }
  for (std::size_t i = FILTER_PREFIX_ENTRIES; i < prefixes.size(); i++) {
    if (isSame(prefixes[i], prefixes[i - FILTER_PREFIX_ENTRIES])) {
      throw FilterError("more than " + std::to_string(FILTER_PREFIX_ENTRIES) + " of " + name +
                        " for one destination: use fewer");
    }
  }
}

void fill(const FilterMaps& maps, filter_set& set, std::span<const SetPrefix> prefixes, const std::string& name) {
  const auto buckets = maps.ways().subspan(set.first_bucket, set.buckets);
  const auto entries = maps.entries().subspan(set.first_entry, prefixes.size());
  std::memset(buckets.data(), 0, buckets.size_bytes());
  BucketTable table(buckets);
  for (std::uint32_t i = 0; i < prefixes.size(); i++) {
    const SetPrefix& prefix = prefixes[i];
    const bool isAny = prefix.length == kAnyLength;
    const bool isFirst = i == 0 || !isSame(prefix, prefixes[i - 1]);
    filter_entry& entry = entries[i];
    entry = {};
    entry.address = prefix.address;
    entry.rule = prefix.rule;
    entry.mask = prefix.mask;
    entry.wanted = prefix.wanted;
    entry.length = static_cast<__u8>(prefix.length);
    entry.asks_more = prefix.asksMore ? 1 : 0;
    if (isAny) {
      set.any_entries++;
    } else if (isFirst) {
      const std::uint64_t hash = filter_prefix_hash(&prefix.address, prefix.length, maps.head().seed);
      if (!table.insert(hash, i)) throw FilterError("the kernel's table of " + name + " has no place for one more");
      addLength(set, prefix);
      markNear(set, prefix);
    }
  }
  for (std::size_t i = prefixes.size(); i-- > 1;) {
    if (isSame(prefixes[i - 1], prefixes[i])) entries[i - 1].more = static_cast<__u8>(entries[i].more + 1);
  }
  set.entries = static_cast<__u32>(prefixes.size());
}

}  // namespace

bool isIpv4Prefix(const SetPrefix& prefix) { return prefix.length >= kMappedBits && isMapped(prefix.address); }

void requireRoom(const FilterMaps& maps, filter_set_kind kind, std::vector<SetPrefix> prefixes) {
  sort(prefixes);
  requireRoomFor(maps, kind, prefixes);
}

void publishSet(const FilterMaps& maps, filter_set_kind kind, std::vector<SetPrefix> prefixes) {
  sort(prefixes);
  requireRoomFor(maps, kind, prefixes);
  __u32& active = maps.head().active[kind];
  const std::uint32_t next = (active + 1) % FILTER_SET_COPIES;
  filter_set& set = maps.sets()[indexOf(kind, next)];
  const filter_set before = set;
  std::memset(&set, 0, sizeof set);
  set.first_bucket = before.first_bucket;
  set.buckets = before.buckets;
  set.first_entry = before.first_entry;
  fill(maps, set, prefixes, kKindNames[kind]);
  std::uint32_t asked = 0;
  for (const SetPrefix& prefix : prefixes) asked |= prefix.detailsAsked;
  // Sets are read before the rules that name them are in force, and after they were.
  __atomic_fetch_or(&maps.head().details_asked[kind], asked, __ATOMIC_RELEASE);
  __atomic_store_n(&active, next, __ATOMIC_RELEASE);
  __atomic_store_n(&maps.head().entries[kind], set.entries, __ATOMIC_RELEASE);
  __atomic_store_n(&maps.head().details_asked[kind], asked, __ATOMIC_RELEASE);
}

std::span<const filter_entry> activeEntries(const FilterMaps& maps, filter_set_kind kind) {
  const filter_set& set = maps.sets()[indexOf(kind, maps.head().active[kind])];
  return maps.entries().subspan(set.first_entry, set.entries);
}

}  // namespace floodwall
