// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Looks up random IPv4 sources among named sets, in a trie of the kernel, and in nothing. Where sets are exchanged,
// each look-up must give what one generation or the other says of the source (set_lookup.h).
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "set_lookup.h"
#include "source_sets.h"

struct set_counts counts;

struct trie_key {
  __u32 length;
  __u32 address;
};
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, SET_PIECES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct trie_key);
  __type(value, __u64);
} trie SEC(".maps");

/* The frame is the same each time, and its source is not: tables cost what fetching their cache lines costs. */
static __always_inline __u32 draw_source(struct packet* packet) {
  const __u32 address = bpf_get_prandom_u32();
  packet->source.words[2] = bpf_htonl(0xffff);
  packet->source.words[3] = bpf_htonl(address);
  return address;
}

static __always_inline void count(__u32 address, __u64 sets) {
  if (sets == set_bitmap_of(0, address)) {
    counts.first++;
  } else if (sets == set_bitmap_of(1, address)) {
    counts.second++;
  } else {
    counts.neither++;
  }
}

SEC("xdp")
int in_nothing(struct xdp_md* ctx) {
  struct packet packet = {};
  const __u32 address = draw_source(&packet);
  count(address, set_bitmap_of(0, address));
  return XDP_DROP;
}

SEC("xdp")
int in_sets(struct xdp_md* ctx) {
  struct packet packet = {};
  const __u32 address = draw_source(&packet);
  count(address, sets_of_source(&packet));
  return XDP_DROP;
}

SEC("xdp")
int in_trie(struct xdp_md* ctx) {
  struct packet packet = {};
  const __u32 address = draw_source(&packet);
  struct trie_key key = {.length = 32, .address = packet.source.words[3]};
  const __u64* found = bpf_map_lookup_elem(&trie, &key);
  count(address, found ? *found : 0);
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
