/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pinned maps that the filter in the kernel and its owner share, and that outlive both. A change of a struct, or of
 * the meaning of a field, must increase FILTER_SCHEMA: an older service's maps are then replaced, never misread.
 *
 * The owner writes tables in place while the program reads them. A new row is complete before a way or a number leads
 * to it, and a row that was given up is not used again for a while: a program that still reads it runs for
 * microseconds.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include "filter_verdicts.h"
#include "inline_abi.h"
#include "outcomes_abi.h"
#include "rule_abi.h"
#include "source_abi.h"

#define FILTER_SCHEMA 13

/* A way is eight bits of the hash, then a row's number plus 1; 0 is empty. What finds its bucket full goes to the
 * second one; `elsewhere` counts such, and only then does a look-up go there too. */
#define FILTER_BUCKET_WAYS 15
#define FILTER_TAG_MASK 0xff000000u

struct filter_bucket {
  __u32 ways[FILTER_BUCKET_WAYS];
  __u32 elsewhere;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_bucket) == 64);

/* A source that may not reach a victim: all that a blocked IPv4 packet reads or writes. With many pairs a block costs
 * what fetching cache lines costs, so a pair takes as few bytes as it can: a table that the caches hold saves more than
 * any instruction. A pair is in the group where the hash says, its home, or in the first group after it that had room,
 * and nothing else need be read to find it. */
struct filter_pair {
  /* The last words of both: of IPv4 the addresses. All of both is in filter_pair_rows, at the pair's number. */
  union {
    __u64 ends;
    struct {
      __u32 source;
      __u32 victim;
    };
  };
  /* The expiry, as filter_coarse_expiry() returns it. 0: the place is unused. Only the owner of the maps writes it. */
  __u32 expires;
  /* Counts of the pair's own CPU since it last added to filter_pair_rows: that CPU's number plus 1, packets, and in
   * the highest bits bytes. It is the CPU that met the pair first. A flow keeps to its CPU, and what only one CPU
   * writes needs no locked instruction, of which a drop would pay for two. Once the pair is in force, only the program
   * writes it. */
  __u32 held;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_pair) == 16);

/* The lowest bit of `expires`, set of any pair but two IPv4 addresses. */
#define FILTER_PAIR_IPV6 1u
/* An expiry's unit, 2^30 ns: about a second. */
#define FILTER_COARSE_SHIFT 30
#define FILTER_COARSE_MAX 0x7fffffffu

/* One cache line. With all pairs that there is room for, nine in ten are at home. */
#define FILTER_GROUP_PAIRS 4u

struct filter_pair_group {
  struct filter_pair pairs[FILTER_GROUP_PAIRS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_pair_group) == 64);

/* Maximum distance of a pair from its home group: (62 + 1) * FILTER_GROUP_PAIRS rows fit a byte. In a full table of
 * four million pairs the farthest was 38 groups away. */
#define FILTER_REACH_MAX 62u

/* Bits of filter_pair.held, from the lowest one. A CPU with a higher number owns no pair. */
#define FILTER_OWNER_BITS 10
#define FILTER_HELD_PACKETS_BITS 7
#define FILTER_OWNER_MASK ((1u << FILTER_OWNER_BITS) - 1)
#define FILTER_HELD_PACKETS_MAX ((1u << FILTER_HELD_PACKETS_BITS) - 1)
#define FILTER_HELD_BYTES_SHIFT (FILTER_OWNER_BITS + FILTER_HELD_PACKETS_BITS)
#define FILTER_HELD_BYTES_MAX ((1u << (32 - FILTER_HELD_BYTES_SHIFT)) - 1)

struct filter_pair_key {
  struct ip_address source;
  struct ip_address victim;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_pair_key) == 32);

/* Part of a pair that few packets read or write. */
struct filter_pair_row {
  struct filter_pair_key key;
  /* On the boot-time clock; after it the pair has no effect. */
  __u64 expires_at_ns;
  /* Counted by CPUs that do not own the pair, and added by the one that does. */
  struct filter_count hits;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_pair_row) == 56);

/* Two bits of one word for each pair, where its hash says: with all pairs that there is room for, 97 of 100 packets
 * that are not blocked find one of theirs clear, on a line that the cache holds, and need no look at rows. */
#define FILTER_GROUP_BITS (8u * FILTER_GROUP_PAIRS)

struct filter_bits {
  __u64 words[8];
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_bits) == 64);

/* How far ahead of its rate a limited rule may let packets through. */
#define FILTER_BURST_NS 100000000ull
/* Times that a packet tries for its share of a limit among CPUs that all want theirs; then it is dropped. */
#define FILTER_TRIES 16

/* Each stripe has one for each rule: that of a CPU's number, so that none waits for another. */
enum filter_outcome {
  FILTER_PASSED = 0,
  FILTER_DROPPED = 1,
  FILTER_ANSWERED = 2,
  /* Segments by which sources proved their address; they are dropped or answered as well. */
  FILTER_VALIDATED = 3,
  FILTER_OUTCOMES = 4,
};

/* The outcome of a verdict; a packet without a verdict (FILTER_VERDICTS) passes. */
static inline __attribute__((always_inline)) enum filter_outcome filter_outcome_of(__u32 verdict) {
  if (verdict < FILTER_DROP_SOURCE || verdict >= FILTER_VERDICTS) return FILTER_PASSED;
  return verdict >= FILTER_ANSWER_SYN_ACK ? FILTER_ANSWERED : FILTER_DROPPED;
}

struct filter_hits {
  struct filter_count outcomes[FILTER_OUTCOMES];
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_hits) == 64);

/* Match fields of a packet beside its addresses and its length. Fields that a packet does not show are 0. */
struct filter_traits {
  union {
    __u64 all;
    struct {
      __u16 source_port;
      __u16 destination_port;
      __u8 protocol;
      __u8 tcp_flags;
      __u8 shows;
      __u8 reserved;
    };
  };
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_traits) == 8);

enum filter_shows {
  FILTER_SHOWS_PORTS = 1,
  FILTER_SHOWS_FLAGS = 2,
  FILTER_SHOWS_FRAGMENT = 4,
  /* It was behind labels or in a tunnel: the frame around it is no answer. Rules do not ask for it. */
  FILTER_SHOWS_INNER = 8,
};

/* Sets of prefixes, looked up by exact hash for each length in use, the longest first. */
enum filter_set_kind {
  FILTER_ALLOWLIST = 0,
  FILTER_WHITELIST = 1,
  FILTER_RULES = 2,
  /* Destinations of the operator's rules, each with all rules for it. They are tried before those of FILTER_RULES. */
  FILTER_OPERATOR_RULES = 3,
  FILTER_SETS = 4,
};
/* Each kind has copies: one in force, the others being written or about to be left by the last reader. */
#define FILTER_SET_COPIES 4u
/* Entries of FILTER_OPERATOR_RULES: a rule has one for each destination that it is for. */
#define FILTER_OPERATOR_ENTRIES 16384u

struct filter_entry {
  struct ip_address address;
  /* Any packet that the rule matches has these: of its traits, where the mask has bits, these. Most rules that do not
   * match are passed over by it, here where the rules of one destination lie one after the other. */
  struct filter_traits mask;
  struct filter_traits wanted;
  /* The number of the rule. */
  __u32 rule;
  __u8 length;
  /* Number of entries of the same prefix that follow directly. */
  __u8 more;
  /* The rule asks for more than the traits and the prefix: rule_matches() says whether it matches. */
  __u8 asks_more;
  __u8 reserved;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_entry) == 40);

#define FILTER_LENGTHS_IPV4 33
#define FILTER_LENGTHS_IPV6 129
#define FILTER_PREFIX_ENTRIES 255u
/* The prefix in which every address of both families lies. */
#define FILTER_ANY_LENGTH 255

struct filter_set {
  /* Prefixes, and rules for any destination, which come first among the entries. */
  __u32 entries;
  __u32 any_entries;
  /* Where its buckets and entries begin, and how many buckets there are, a power of two. */
  __u32 first_bucket;
  __u32 buckets;
  __u32 first_entry;
  __u32 lengths_ipv4;
  __u32 lengths_ipv6;
  __u32 reserved;
  /* In use, the longest first, in the mapped form. */
  __u8 ipv4[40];
  __u8 ipv6[136];
  /* Which addresses may lie in a prefix. */
  __u64 near_ipv4[1024];
  __u64 near_ipv6[1024];
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_set) == 208 + 16384);

/* Secret words of the hashes. */
#define FILTER_SEED_WORDS 8

struct filter_head {
  __u32 schema;
  /* Capacities of the maps. */
  __u32 pairs_max;
  __u32 rules_max;
  __u32 prefixes_max;
  __u32 pair_groups;
  __u32 rule_slots;
  /* Number of counts per rule, a power of two; and whether CPUs share them, because there are more CPUs. */
  __u32 stripes;
  __u32 are_stripes_shared;
  __u32 seed[FILTER_SEED_WORDS];
  /* In force: how many pairs there are, and of each kind of set the copy, and how many entries it has. */
  __u32 pairs;
  __u32 active[FILTER_SETS];
  __u32 entries[FILTER_SETS];
  /* Maximum distance of the present pairs from their home groups. */
  __u32 pair_reach;
  /* Sets of sources, and what they have room for. */
  __u32 source_sets;
  __u32 sources_max;
  /* How long a source stays, in units of SOURCE_TIME_SHIFT, after its last packet in the second half of that time. */
  __u32 validated_units;
  __u32 learned_units;
  /* Cookies are made with this one of the keys, and read with the one that made them. */
  __u32 cookie_key;
  __u64 cookie_keys[2][2];
  /* For each kind of set, the details that its rules use: enum details_asks. */
  __u32 details_asked[FILTER_SETS];
  /* Destinations whose outcomes are counted. */
  __u32 watched;
  __u32 reserved;
};
FLOODWALL_ABI_ASSERT(offsetof(struct filter_head, cookie_keys) == 128);
FLOODWALL_ABI_ASSERT(sizeof(struct filter_head) == 184);

/* Fixed when the program that only filters is loaded. */
struct filter_settings {
  /* Frames may come in several buffers, of which the program sees the first. */
  __u32 has_fragments;
  /* Packets that pass go to the forwarding program. */
  __u32 forwards;
};

static inline __attribute__((always_inline)) __u32 filter_tag(__u64 hash) {
  return (__u32)(hash >> 32) & FILTER_TAG_MASK;
}

/* A time of the boot-time clock in coarse units from 1 on. */
static inline __attribute__((always_inline)) __u32 filter_coarse_time(__u64 ns) {
  const __u64 units = (ns >> FILTER_COARSE_SHIFT) + 1;
  return units < FILTER_COARSE_MAX ? (__u32)units : FILTER_COARSE_MAX;
}
static inline __attribute__((always_inline)) __u32 filter_coarse_expiry(__u64 expires_at_ns, int is_ipv4) {
  return filter_coarse_time(expires_at_ns) << 1 | (is_ipv4 ? 0 : FILTER_PAIR_IPV6);
}

/* Whether both addresses have the mapped form. */
static inline __attribute__((always_inline)) int filter_is_ipv4_pair(const struct ip_address* source,
                                                                     const struct ip_address* victim) {
  const __u32 mapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0xffff0000u : 0xffffu;
  return (source->halves[0] | victim->halves[0] | (source->words[2] ^ mapped) | (victim->words[2] ^ mapped)) == 0;
}

/* Hash of two addresses of one family, as flow_hash(): the NH hash, with less to do for IPv4. */
static inline __attribute__((always_inline)) __u64 filter_pair_hash(const struct ip_address* source,
                                                                    const struct ip_address* victim,
                                                                    const __u32* seed) {
  const __u32* s = source->words;
  const __u32* v = victim->words;
  __u64 hash = (__u64)(__u32)(s[3] + seed[0]) * (__u32)(v[3] + seed[1]);
  if ((s[0] | v[0]) != 0) {
    hash += (__u64)(__u32)(s[0] + seed[2]) * (__u32)(s[1] + seed[3]) +
            (__u64)(__u32)(v[0] + seed[4]) * (__u32)(v[1] + seed[5]) +
            (__u64)(__u32)(s[2] + seed[6]) * (__u32)(v[2] + seed[7]);
  }
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}

static inline __attribute__((always_inline)) __u64 filter_prefix_hash(const struct ip_address* address, __u32 length,
                                                                      const __u32* seed) {
  __u64 hash = (inline_host_hash(address, seed) ^ length) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}

/* The group that is the home of a hash. `groups` is how many there are. */
static inline __attribute__((always_inline)) __u32 filter_home_of(__u64 hash, __u32 groups) {
  return (__u32)((hash >> 32) * groups >> 32);
}

/* The number of its word of bits among all, and its bits there. */
static inline __attribute__((always_inline)) __u32 filter_word_of(__u64 hash, __u32 groups) {
  return (__u32)((hash & 0xffffffff) * (groups * FILTER_GROUP_BITS / 64) >> 32);
}
static inline __attribute__((always_inline)) __u64 filter_word_bits(__u64 hash) {
  return 1ull << (hash & 63) | 1ull << (hash >> 6 & 63);
}

/* The two buckets of a hash. `buckets` is a power of two. */
static inline __attribute__((always_inline)) __u32 filter_bucket_of(__u64 hash, __u32 buckets) {
  return (__u32)hash & (buckets - 1);
}
static inline __attribute__((always_inline)) __u32 filter_second_bucket_of(__u64 hash, __u32 buckets) {
  __u32 other = (__u32)(hash >> 24) & (buckets - 1);
  return other == filter_bucket_of(hash, buckets) ? other ^ (buckets > 1) : other;
}

/* The 16 bits of an address that index a set's `near` maps: of IPv6 the first 32 folded to 16, since all addresses of
 * one provider have the same first 16. Takes words in host order. */
static inline __attribute__((always_inline)) __u32 filter_near_ipv4(__u32 word) { return word >> 16; }
static inline __attribute__((always_inline)) __u32 filter_near_ipv6(__u32 word) { return (word >> 16 ^ word) & 0xffff; }
