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

/* Source blocks. Two bits for each hash of a pair: most packets that are not blocked are done after it. The kernel's
 * Bloom filter (BPF_MAP_TYPE_BLOOM_FILTER) cannot forget a pair that was removed. */
FILTER_MAP(filter_bits) filter_pair_bits SEC(".maps");
/* Hot part of a pair: all that is needed to drop a blocked IPv4 packet, in one cache line. A look-up in a hash map of
 * the kernel would read its bucket, its element and, per CPU, the value. */
FILTER_MAP(filter_pair_group) filter_pairs SEC(".maps");
/* The rest of each pair, by its number: whole addresses, which only IPv6 needs, the expiry to the nanosecond, and
 * counts of all CPUs, with locked instructions, since they are few: a count for each CPU and pair would take memory for
 * every CPU. */
FILTER_MAP(filter_pair_row) filter_pair_rows SEC(".maps");

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

static __always_inline int same_address(const struct ip_address* one, const struct ip_address* other) {
  return ((one->halves[0] ^ other->halves[0]) | (one->halves[1] ^ other->halves[1])) == 0;
}

struct found_pair {
  struct filter_pair* pair;
  __u32 number;
};

/* A processor cannot predict which ways of a bucket are empty, and predicts well that most tags differ. So the tag is
 * compared first, and the compiler is kept from swapping the two. */
static __always_inline int has_tag(__u32 way, __u32 tag) {
  if ((way & FILTER_TAG_MASK) != tag) return 0;
  asm volatile("" : "+r"(way));
  return way != 0;
}

/* Not static for the reason of parse_packet. */
__noinline int has_key(struct packet* packet, __u32 number) {
  struct filter_pair_row* row = bpf_map_lookup_elem(&filter_pair_rows, &number);
  return packet && row && same_address(&row->key.source, &packet->source) &&
         same_address(&row->key.victim, &packet->destination);
}

/* As filter_pair.ends. */
static __always_inline __u64 ends_of(const struct packet* packet) {
  const struct filter_pair pair = {.source = packet->source.words[3], .victim = packet->destination.words[3]};
  return pair.ends;
}

/* 0, or 1 of any other number, without a branch. */
static __always_inline __u32 is_not_0(__u64 number) { return (number | -number) >> 63; }

/* Which of the group may be the packet's pair, without a branch: it could not be predicted, and nothing that follows
 * could begin before the group is there. */
static __always_inline __u32 at_home(const struct filter_pair_group* home, __u64 ends) {
  __u32 after0 = is_not_0(home->pairs[0].ends ^ ends);
  __u32 after1 = after0 & is_not_0(home->pairs[1].ends ^ ends);
  __u32 after2 = after1 & is_not_0(home->pairs[2].ends ^ ends);
  return after0 + after1 + after2;
}

static __always_inline int is_ipv4_pair(const struct filter_pair* pair) {
  return pair->expires != 0 && !(pair->expires & FILTER_PAIR_IPV6);
}

static __always_inline int is_ipv6_pair(const struct filter_pair* pair) { return pair->expires & FILTER_PAIR_IPV6; }

static __always_inline int may_be_pair(const struct filter_head* head, __u64 hash) {
  const __u32 word = filter_word_of(hash, head->pair_groups);
  const __u64 wanted = filter_word_bits(hash);
  __u32 line = word / 8;
  struct filter_bits* bits = bpf_map_lookup_elem(&filter_pair_bits, &line);
  return bits && (bits->words[word & 7] & wanted) == wanted;
}

static __always_inline struct filter_pair* pair_at(__u32 number) {
  __u32 group = number / FILTER_GROUP_PAIRS;
  struct filter_pair_group* found = bpf_map_lookup_elem(&filter_pairs, &group);
  return found ? &found->pairs[bounded(number, FILTER_GROUP_PAIRS - 1)] : 0;
}

/* Above the numbers of all pairs, and of the places that one may be in. */
#define PAIR_NUMBERS_MASK 0x3ffffff
#define PAIR_REACH_MASK 0xff

/* The number of the packet's pair, plus 1; 0: there is none. Not static for the reason of parse_packet. */
__noinline __u32 find_pair_from(struct packet* packet, __u32 home) {
  struct filter_head* head = filter_head_of();
  if (!packet || !head) return 0;
  const __u64 ends = ends_of(packet);
  const int of_ipv4 = filter_is_ipv4_pair(&packet->source, &packet->destination);
  __u64 number = bounded(home * FILTER_GROUP_PAIRS, PAIR_NUMBERS_MASK);
  for_countdown(left, bounded((head->pair_reach + 1) * FILTER_GROUP_PAIRS, PAIR_REACH_MASK)) {
    struct filter_pair* pair = pair_at(number);
    if (!pair) return 0;
    if (pair->ends == ends && (of_ipv4 ? is_ipv4_pair(pair) : is_ipv6_pair(pair) && has_key(packet, number))) {
      return number + 1;
    }
    number = bounded(number + 1, PAIR_NUMBERS_MASK);
  }
  return 0;
}

/* The pair of the packet's source and destination; no pair: there is none. */
static __always_inline struct found_pair find_pair(const struct filter_head* head, struct packet* packet) {
  struct found_pair found = {};
  __u64 hash = filter_pair_hash(&packet->source, &packet->destination, head->seed);
  if (!may_be_pair(head, hash)) return found;
  __u32 home = filter_home_of(hash, head->pair_groups);
  struct filter_pair_group* group = bpf_map_lookup_elem(&filter_pairs, &home);
  if (group && filter_is_ipv4_pair(&packet->source, &packet->destination)) {
    const __u64 ends = ends_of(packet);
    __u64 at = bounded(at_home(group, ends), FILTER_GROUP_PAIRS - 1);
    struct filter_pair* pair = &group->pairs[at];
    if (pair->ends == ends && is_ipv4_pair(pair)) {
      return (struct found_pair){.pair = pair, .number = home * FILTER_GROUP_PAIRS + at};
    }
  }
  __u32 number = find_pair_from(packet, home);
  if (number) found = (struct found_pair){.pair = pair_at(number - 1), .number = number - 1};
  return found;
}

static __always_inline __u32 set_index_of(const struct filter_head* head, __u32 kind) {
  return kind * FILTER_SET_COPIES + head->active[kind];
}

static __always_inline struct filter_set* active_set(const struct filter_head* head, __u32 kind) {
  __u32 index = set_index_of(head, kind);
  return bpf_map_lookup_elem(&filter_sets, &index);
}

static __always_inline int may_be_in(const struct filter_set* set, const struct ip_address* address) {
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

static __always_inline struct ip_address masked(const struct ip_address* address, __u32 length) {
  struct ip_address prefix;
  prefix.halves[0] = length >= 64 ? address->halves[0] : first_bits(address->halves[0], length);
  prefix.halves[1] = length >= 128  ? address->halves[1]
                     : length <= 64 ? 0
                                    : first_bits(address->halves[1], length - 64);
  return prefix;
}

static __always_inline __u32 entry_in(const struct filter_set* set, __u32 bucket, const struct ip_address* prefix,
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

/* The number of the first entry of the prefix of this length in which the address lies, plus 1; 0: there is none. */
static __always_inline __u32 find_entry(const struct filter_head* head, const struct filter_set* set,
                                        const struct ip_address* address, __u32 length) {
  struct ip_address prefix = masked(address, length);
  __u64 hash = filter_prefix_hash(&prefix, length, head->seed);
  __u32 tag = filter_tag(hash);
  __u32 elsewhere = 0;
  __u32 found = entry_in(set, filter_bucket_of(hash, set->buckets), &prefix, length, tag, &elsewhere);
  if (found || !elsewhere) return found;
  return entry_in(set, filter_second_bucket_of(hash, set->buckets), &prefix, length, tag, &elsewhere);
}

/* Not static for the reason of parse_packet. */
__noinline int has_prefix(struct ip_address* address, __u32 set_index, __u32 length) {
  struct filter_head* head = filter_head_of();
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  return address && head && set && find_entry(head, set, address, length);
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
__noinline int is_in_set(struct ip_address* address, __u32 set_index) {
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  if (!address || !set || !may_be_in(set, address)) return 0;
  int of_ipv4 = is_ipv4(address);
  __u64 lengths = lengths_of(set, of_ipv4);
  for_countdown(left, lengths) {
    if (has_prefix(address, set_index, length_at(set, of_ipv4, bounded(lengths - left, 0xff)))) return 1;
  }
  return 0;
}
