#include "inline/inline_networks.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/source_error.h"

namespace floodwall {
namespace {

constexpr unsigned kMappedBits = 96;
constexpr unsigned kFilterBits = 16;

SourceError failed(int error) {
  return SourceError(std::string("cannot put the networks into the kernel: ") + strerror(error) +
                     "; free memory, or configure fewer networks");
}

bool isIpv4(const PrefixValue& prefix) { return prefix.length >= kMappedBits && isIpv4Mapped(prefix.address); }

/// Sizes are those of the inner maps that xdp_inline.bpf.c declares; the kernel refuses others.
UniqueFd makeMap(bpf_map_type type, std::uint32_t keyBytes, std::uint32_t valueBytes, std::size_t entries) {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  if (type == BPF_MAP_TYPE_LPM_TRIE) options.map_flags = BPF_F_NO_PREALLOC;
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(entries, 1));
  UniqueFd fd(bpf_map_create(type, "networks", keyBytes, valueBytes, most, &options));
  if (!fd) throw failed(errno);
  return fd;
}

void put(const UniqueFd& map, const void* key, const void* value) {
  const int error = bpf_map_update_elem(map.get(), key, value, BPF_ANY);
  if (error < 0) throw failed(-error);
}

void putPrefix(const InlineNetworks& networks, const PrefixValue& prefix) {
  if (isIpv4(prefix)) {
    inline_prefix4 key{.length = prefix.length - kMappedBits, .address = 0};
    std::memcpy(&key.address, prefix.address.bytes.data() + 12, 4);
    put(networks.trie4, &key, &prefix.value);
  } else {
    inline_prefix6 key{};
    key.length = prefix.length;
    std::memcpy(&key.address, prefix.address.bytes.data(), 16);
    put(networks.trie6, &key, &prefix.value);
  }
}

void pass(inline_filter& filter, const PrefixValue& prefix) {
  const bool is4 = isIpv4(prefix);
  const std::uint8_t* bytes = prefix.address.bytes.data() + (is4 ? 12 : 0);
  const unsigned length = std::min(prefix.length - (is4 ? kMappedBits : 0U), kFilterBits);
  const std::uint32_t count = 1U << (kFilterBits - length);
  const std::uint32_t first = static_cast<std::uint32_t>(bytes[0] << 8 | bytes[1]) & ~(count - 1);
  __u64* words = is4 ? filter.ipv4 : filter.ipv6;
  for (std::uint32_t bits = first; bits < first + count; bits++) words[bits / 64] |= __u64{1} << (bits % 64);
}

UniqueFd makeCounts(std::uint32_t networkCount, std::uint32_t lanes) {
  const std::vector<inline_counts> zeros(lanes);
  const auto valueBytes = static_cast<std::uint32_t>(zeros.size() * sizeof(inline_counts));
  UniqueFd map = makeMap(BPF_MAP_TYPE_HASH, sizeof(std::uint32_t), valueBytes, networkCount);
  for (std::uint32_t network = 0; network < networkCount; network++) put(map, &network, zeros.data());
  return map;
}

}  // namespace

InlineNetworks::InlineNetworks(std::span<const PrefixValue> prefixes, std::uint32_t networkCount, std::uint32_t lanes) {
  const auto count4 = static_cast<std::size_t>(std::count_if(prefixes.begin(), prefixes.end(), isIpv4));
  trie4 = makeMap(BPF_MAP_TYPE_LPM_TRIE, sizeof(inline_prefix4), sizeof(std::uint32_t), count4);
  trie6 = makeMap(BPF_MAP_TYPE_LPM_TRIE, sizeof(inline_prefix6), sizeof(std::uint32_t), prefixes.size() - count4);
  counts = makeCounts(networkCount, lanes);
  for (const PrefixValue& prefix : prefixes) {
    putPrefix(*this, prefix);
    pass(filter, prefix);
  }
}

void InlineNetworks::addTo(inline_filter& live) const noexcept {
  for (std::size_t i = 0; i < INLINE_FILTER_WORDS; i++) {
    __atomic_fetch_or(&live.ipv4[i], filter.ipv4[i], __ATOMIC_RELAXED);
    __atomic_fetch_or(&live.ipv6[i], filter.ipv6[i], __ATOMIC_RELAXED);
  }
}

void InlineNetworks::writeTo(inline_filter& live) const noexcept {
  for (std::size_t i = 0; i < INLINE_FILTER_WORDS; i++) {
    __atomic_store_n(&live.ipv4[i], filter.ipv4[i], __ATOMIC_RELAXED);
    __atomic_store_n(&live.ipv6[i], filter.ipv6[i], __ATOMIC_RELAXED);
  }
}

}  // namespace floodwall
