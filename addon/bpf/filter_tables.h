/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter's maps, and how pairs and prefixes are found in them. The loader makes them as large as they must be, or
 * puts the pinned maps of an earlier process in their place. Knows nothing of verdicts.
 *
 * All tables are arrays that the owner maps into its memory; hash tables and prefix matches are built of them here. The
 * kernel has map types for both, which are too slow for every packet of a flood: an LPM trie takes 62 ns for a look-up
 * among 100 prefixes and 665 ns among a million, and counting in a per-CPU hash of 65,536 entries brings a bare drop
 * from 14.5 to 9.5 million packets a second. They are also written by system calls, while a table in mapped memory is
 * filled without any, and is complete before the program looks at it.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "filter_abi.h"
#include "parse_packet.h"
#include "verifier_bounds.h"

#define FILTER_MAP(of)                 \
  struct {                             \
    __uint(type, BPF_MAP_TYPE_ARRAY);  \
    __uint(map_flags, BPF_F_MMAPABLE); \
    __uint(max_entries, 1);            \
    __type(key, __u32);                \
    __type(value, struct of);          \
  }

/* One row: sizes, seeds, how many pairs there are, and which sets are in force. */
FILTER_MAP(filter_head) filter_head SEC(".maps");

/* Source blocks. A bit for each hash of a pair: most packets that are not blocked are done after it. The kernel's Bloom
 * filter (BPF_MAP_TYPE_BLOOM_FILTER) cannot forget a pair that was removed. */
FILTER_MAP(filter_bits) filter_pair_bits SEC(".maps");
/* By these any pair's row is found; most rows are at home and are found before. */
FILTER_MAP(filter_bucket) filter_buckets SEC(".maps");
/* Addresses, expiry and counts of a pair: what a blocked IPv4 packet needs is on one cache line, where a look-up in a
 * hash map of the kernel reads its bucket, its element and, per CPU, the value. */
FILTER_MAP(filter_pair) filter_pairs SEC(".maps");
/* By the same numbers: the whole addresses, which only IPv6 needs; and what CPUs counted that do not own the pair. One
 * count for all of them, with locked instructions, since they are few: a count for each CPU and pair would take memory
 * for every CPU. */
FILTER_MAP(filter_pair_key) filter_pair_keys SEC(".maps");
FILTER_MAP(filter_count) filter_pair_hits SEC(".maps");

/* Dynamic rules by number, and their counts: as many of each rule as there are stripes, up to 64. Not a per-CPU array,
 * since the owner cannot map one into its memory. */
FILTER_MAP(filter_rule) filter_rules SEC(".maps");
FILTER_MAP(filter_hits) filter_hits SEC(".maps");

/* Sets of prefixes: allowlist, protected whitelist, and destinations of rules, four copies of each. One hash look-up
 * for each length in use, which are few, instead of an LPM trie, whose cost grows with the prefixes. */
FILTER_MAP(filter_set) filter_sets SEC(".maps");
/* Buckets of all copies: where the entries of a prefix begin. */
FILTER_MAP(filter_bucket) filter_ways SEC(".maps");
/* Entries of all copies; those of one prefix lie one after the other, in the order in which its rules are tried, for
 * which a hash map has no form. */
FILTER_MAP(filter_entry) filter_entries SEC(".maps");

/* Verdicts counted, and a clock, of each CPU. Two words a packet that no other CPU writes: this is what the kernel's
 * per-CPU array is for. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct filter_stats);
} filter_stats SEC(".maps");

static __always_inline struct filter_head* filter_head_of(void) {
  __u32 slot = 0;
  return bpf_map_lookup_elem(&filter_head, &slot);
}

static __always_inline int same_address(const struct inline_address* one, const struct inline_address* other) {
  return one->halves[0] == other->halves[0] && one->halves[1] == other->halves[1];
}

struct found_pair {
  struct filter_pair* pair;
  /* Its row. */
  __u32 number;
};

/* A processor cannot predict which ways of a bucket are empty, and predicts well that most tags differ. So the tag is
 * compared first, and the compiler is kept from swapping the two. */
static __always_inline int has_tag(__u32 way, __u32 tag) {
  if ((way & FILTER_TAG_MASK) != tag) return 0;
  asm volatile("" : "+r"(way));
  return way != 0;
}

static __always_inline int has_key(__u32 row, const struct packet* packet) {
  struct filter_pair_key* key = bpf_map_lookup_elem(&filter_pair_keys, &row);
  return key && same_address(&key->source, &packet->source) && same_address(&key->victim, &packet->destination);
}

/* Whether the row is the packet's pair. */
static __always_inline int is_pair_at(__u32 row, const struct packet* packet, struct found_pair* found) {
  struct filter_pair* pair = bpf_map_lookup_elem(&filter_pairs, &row);
  if (!pair || pair->source != packet->source.words[3] || pair->victim != packet->destination.words[3]) return 0;
  __u64 is_ipv6 = filter_is_ipv4_pair(&packet->source, &packet->destination) ? 0 : FILTER_PAIR_IPV6;
  if (pair->expires_at_ns == 0 || (pair->expires_at_ns & FILTER_PAIR_IPV6) != is_ipv6) return 0;
  if (is_ipv6 && !has_key(row, packet)) return 0;
  *found = (struct found_pair){.pair = pair, .number = row};
  return 1;
}

/* Of the two rows of a home, the one that may be the packet's, without a branch: it could not be predicted. */
static __always_inline __u32 row_at_home(__u32 home, const struct packet* packet) {
  struct filter_pair* first = bpf_map_lookup_elem(&filter_pairs, &home);
  if (!first) return home;
  __u64 differs =
      ((__u64)(first->source ^ packet->source.words[3])) << 32 | (first->victim ^ packet->destination.words[3]);
  return home + (__u32)((differs | -differs) >> 63);
}

static __always_inline int is_pair_in(const struct filter_bucket* ways, __u32 tag, const struct packet* packet,
                                      struct found_pair* found) {
  for (int i = 0; i < FILTER_BUCKET_WAYS; i++) {
    __u32 way = ways->ways[i];
    if (has_tag(way, tag) && is_pair_at((way & ~FILTER_TAG_MASK) - 1, packet, found)) return 1;
  }
  return 0;
}

static __always_inline int may_be_pair(const struct filter_head* head, __u64 hash) {
  __u32 bit = filter_bit_of(hash, head->pair_rows);
  __u32 line = bit >> 9;
  struct filter_bits* bits = bpf_map_lookup_elem(&filter_pair_bits, &line);
  return bits && bits->words[bit >> 6 & 7] >> (bit & 63) & 1;
}

/* The row of the packet's source and destination; no pair: there is none. */
static __always_inline struct found_pair find_pair(const struct filter_head* head, const struct packet* packet) {
  struct found_pair found = {};
  __u64 hash = filter_pair_hash(&packet->source, &packet->destination, head->seed);
  if (!may_be_pair(head, hash)) return found;
  __u32 home = filter_home_of(hash, head->pair_rows);
  if (is_pair_at(row_at_home(home, packet), packet, &found)) return found;
  __u32 tag = filter_tag(hash);
  __u32 bucket = filter_bucket_of(hash, head->pair_buckets);
  struct filter_bucket* ways = bpf_map_lookup_elem(&filter_buckets, &bucket);
  if (!ways || is_pair_in(ways, tag, packet, &found) || !ways->elsewhere) return found;
  bucket = filter_second_bucket_of(hash, head->pair_buckets);
  ways = bpf_map_lookup_elem(&filter_buckets, &bucket);
  if (ways) is_pair_in(ways, tag, packet, &found);
  return found;
}

static __always_inline struct filter_set* active_set(const struct filter_head* head, __u32 kind) {
  __u32 index = kind * FILTER_SET_COPIES + head->active[kind];
  return bpf_map_lookup_elem(&filter_sets, &index);
}

static __always_inline int may_be_in(const struct filter_set* set, const struct inline_address* address) {
  if (is_ipv4(address)) {
    __u64 near = bounded(filter_near_ipv4(bpf_ntohl(address->words[3])), 0xffff);
    return set->near_ipv4[near >> 6] >> (near & 63) & 1;
  }
  __u64 near = bounded(filter_near_ipv6(bpf_ntohl(address->words[0])), 0xffff);
  return set->near_ipv6[near >> 6] >> (near & 63) & 1;
}

static __always_inline __u64 first_bits(__u64 word, __u32 bits) {
  __u64 mask = bits == 0 ? 0 : ~0ull << ((64 - bits) & 63);
  return bpf_cpu_to_be64(bpf_be64_to_cpu(word) & mask);
}

static __always_inline struct inline_address masked(const struct inline_address* address, __u32 length) {
  struct inline_address prefix;
  prefix.halves[0] = length >= 64 ? address->halves[0] : first_bits(address->halves[0], length);
  prefix.halves[1] = length >= 128  ? address->halves[1]
                     : length <= 64 ? 0
                                    : first_bits(address->halves[1], length - 64);
  return prefix;
}

static __always_inline __u32 entry_in(const struct filter_set* set, __u32 bucket, const struct inline_address* prefix,
                                      __u32 length, __u32 tag, __u32* elsewhere) {
  bucket += set->first_bucket;
  struct filter_bucket* ways = bpf_map_lookup_elem(&filter_ways, &bucket);
  if (!ways) return 0;
  *elsewhere = ways->elsewhere;
  for (int i = 0; i < FILTER_BUCKET_WAYS; i++) {
    __u32 way = ways->ways[i];
    if (!has_tag(way, tag)) continue;
    __u32 index = set->first_entry + (way & ~FILTER_TAG_MASK) - 1;
    struct filter_entry* entry = bpf_map_lookup_elem(&filter_entries, &index);
    if (entry && entry->length == length && same_address(&entry->address, prefix)) return index + 1;
  }
  return 0;
}

/* The number of the first entry of the prefix of this length in which the address lies, plus 1; 0: there is none.
 * Not static for the reason of parse_packet. */
__noinline __u32 find_entry(struct inline_address* address, __u32 set_index, __u32 length) {
  struct filter_head* head = filter_head_of();
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  if (!address || !head || !set) return 0;
  struct inline_address prefix = masked(address, length);
  __u64 hash = filter_prefix_hash(&prefix, length, head->seed);
  __u32 tag = filter_tag(hash);
  __u32 elsewhere = 0;
  __u32 found = entry_in(set, filter_bucket_of(hash, set->buckets), &prefix, length, tag, &elsewhere);
  if (found || !elsewhere) return found;
  return entry_in(set, filter_second_bucket_of(hash, set->buckets), &prefix, length, tag, &elsewhere);
}

/* How many lengths are in use for a family. */
static __always_inline __u64 lengths_of(const struct filter_set* set, int of_ipv4) {
  __u64 lengths = bounded(of_ipv4 ? set->lengths_ipv4 : set->lengths_ipv6, 0xff);
  return lengths <= FILTER_LENGTHS_IPV6 ? lengths : 0;
}

static __always_inline __u32 length_at(const struct filter_set* set, int of_ipv4, __u32 at) {
  if (of_ipv4) return at < FILTER_LENGTHS_IPV4 ? set->ipv4[at] : 0;
  return at < FILTER_LENGTHS_IPV6 ? set->ipv6[at] : 0;
}

/* Whether the address lies in a prefix of the set. Not static for the reason of parse_packet. */
__noinline int is_in_set(struct inline_address* address, __u32 set_index) {
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  if (!address || !set || !may_be_in(set, address)) return 0;
  int of_ipv4 = is_ipv4(address);
  __u64 lengths = lengths_of(set, of_ipv4);
  for_countdown(left, lengths) {
    if (find_entry(address, set_index, length_at(set, of_ipv4, bounded(lengths - left, 0xff)))) return 1;
  }
  return 0;
}
