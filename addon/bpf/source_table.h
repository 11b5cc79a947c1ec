/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of known sources (source_abi.h). A word is read, worked on and put back by compare and swap, so CPUs need
 * no lock; who comes late gives up, since the source's next packet does it again. Knows nothing of verdicts.
 */
#pragma once

#include "filter_tables.h"

/* Not the kernel's LRU hash: that takes a lock and a list's node for each new entry, evicts by use alone, so that
 * sources that only were seen could push out those that proved their address, and takes six times the memory. */
FILTER_MAP(source_set) filter_sources SEC(".maps");

struct found_source {
  __u64 hash;
  /* 0: it is not there. */
  __u64 entry;
  __u32 set;
};

static __always_inline __u32 source_time(__u64 now_ns) { return now_ns >> SOURCE_TIME_SHIFT & SOURCE_TIME_MASK; }

static __always_inline __u64 source_hash(const struct filter_head* head, const struct ip_address* source,
                                         const struct ip_address* victim) {
  struct ip_address known = *source;
  if (!is_ipv4(victim)) known.halves[1] = 0;
  return filter_pair_hash(&known, victim, head->seed);
}

static __always_inline int is_over(__u64 entry, __u32 now) {
  const __u32 time = source_time_of(entry);
  return (entry & SOURCE_STATE_MASK) == SOURCE_SEEN ? now - time > SOURCE_SEEN_UNITS : time < now;
}

/* An entry's state, which is none when it is over. */
static __always_inline __u32 state_of(__u64 entry, __u32 now) {
  return is_over(entry, now) ? SOURCE_UNKNOWN : entry & SOURCE_STATE_MASK;
}

/* 0: it is not there. Not static for the reason of parse_packet. */
__noinline __u64 find_source_entry(__u64 hash, __u32 set_index) {
  struct source_set* set = bpf_map_lookup_elem(&filter_sources, &set_index);
  if (!set) return 0;
  for (__u32 way = 0; way < SOURCE_WAYS; way++) {
    const __u64 entry = *(volatile __u64*)&set->sources[way];
    if (!((entry ^ hash) >> SOURCE_SIGNATURE_AT) && entry & SOURCE_STATE_MASK) return entry;
  }
  return 0;
}

static __always_inline struct found_source find_source(const struct filter_head* head, __u64 hash) {
  const __u32 set = source_set_of(hash, head->source_sets);
  return (struct found_source){.hash = hash, .entry = find_source_entry(hash, set), .set = set};
}

/* The compiler must not make a branch of what depends on it: the verifier would follow both ways in each round of a
 * loop. */
#define without_branch(value) asm volatile("" : "+r"(value))

/* The lower of two numbers below 2^62, without a branch. */
static __always_inline __u64 lesser(__u64 one, __u64 other) {
  const __u64 less = one - other;
  __u64 mask = -(less >> 63);
  without_branch(mask);
  return other + (less & mask);
}

/* state_of(), without a branch. */
static __always_inline __u64 live_state_of(__u64 entry, __u64 now) {
  const __u64 state = entry & SOURCE_STATE_MASK;
  __u64 grace = SOURCE_SEEN_UNITS * (1 - is_not_0(state ^ SOURCE_SEEN));
  without_branch(grace);
  __u64 is_live = 1 - ((source_time_of(entry) + grace - now) >> 63);
  without_branch(is_live);
  return state * is_live;
}

/* Rank by state; among validated sources, reset proofs rank higher because a third party cannot trigger them. */
static __always_inline __u64 rank_of(__u64 entry, __u64 state) {
  return state << 1 | (~entry >> SOURCE_BY_RESET_AT & 1);
}

/* Worth of an entry: its rank, and for a learned or validated one its expiry, so that the source that sent last is
 * worth most. Among equals the new source's keyed hash decides: a sender must not know which one is next. */
static __always_inline __u64 worth_of(__u64 entry, __u64 state, __u32 way) {
  __u64 has_time = state >> 1;
  without_branch(has_time);
  return (rank_of(entry, state) << 32 | source_time_of(entry) * has_time) * SOURCE_WAYS + way;
}

/* More than any; and what makes an entry worth more than all that do not have it. */
#define WORTH_MAX (1ull << 60)
#define WORTH_OF_OTHERS (1ull << 50)

static __always_inline __u32 state_of_worth(__u64 worth) { return worth / SOURCE_WAYS >> 33; }

static __always_inline __u32 order_of(__u64 entry) { return entry >> SOURCE_SIGNATURE_AT & (SOURCE_WAYS - 1); }

/* In place of the source's old entry; where there is none, 0, of the one that is worth least, if its rank is no higher
 * than this one's. A source that proved its address takes none of the ways that are kept for learned ones, but the way
 * of another that proved its own. All in one function: older kernels bound the stack of all that call each other. Not
 * static for the reason of parse_packet. */
__noinline int replace_source(__u32 set_index, __u64 old, __u64 entry, __u32 now) {
  struct source_set* set = bpf_map_lookup_elem(&filter_sources, &set_index);
  if (!set) return 0;
  for (__u32 way = 0; old && way < SOURCE_WAYS; way++) {
    if (*(volatile __u64*)&set->sources[way] != old) continue;
    __sync_val_compare_and_swap(&set->sources[way], old, entry);
    return 0;
  }
  __u64 least = WORTH_MAX, not_learned = 0;
  for (__u32 way = 0; way < SOURCE_WAYS; way++) {
    const __u64 other = *(volatile __u64*)&set->sources[way];
    const __u64 state = live_state_of(other, now);
    least = lesser(worth_of(other, state, way ^ order_of(entry)), least);
    not_learned += is_not_0(state ^ SOURCE_LEARNED);
  }
  if (not_learned >= SOURCE_WAYS - SOURCE_LEARNED_WAYS && state_of_worth(least) == SOURCE_LEARNED &&
      (entry & SOURCE_STATE_MASK) == SOURCE_VALIDATED) {
    least = WORTH_MAX;
    for (__u32 way = 0; way < SOURCE_WAYS; way++) {
      const __u64 other = *(volatile __u64*)&set->sources[way];
      const __u64 state = live_state_of(other, now);
      least = lesser(
          worth_of(other, state, way ^ order_of(entry)) + is_not_0(state ^ SOURCE_VALIDATED) * WORTH_OF_OTHERS, least);
    }
  }
  __u64* slot = &set->sources[bounded(least ^ order_of(entry), SOURCE_WAYS - 1)];
  const __u64 other = *(volatile __u64*)slot;
  if (rank_of(other, state_of(other, now)) <= rank_of(entry, entry & SOURCE_STATE_MASK)) {
    __sync_val_compare_and_swap(slot, other, entry);
  }
  return 0;
}

static __always_inline void put_source(const struct found_source* found, __u32 state, __u32 time, __u32 now) {
  replace_source(found->set, found->entry, source_entry(found->hash, time, state), now);
}

static __always_inline __u32 lifetime_of(const struct filter_head* head, __u32 state) {
  return state == SOURCE_VALIDATED ? head->validated_units : head->learned_units;
}

/* A source that goes on sending stays known; it is written down once a unit, so that who has stopped is older. */
static __always_inline void keep_source(const struct filter_head* head, const struct found_source* found, __u32 state,
                                        __u32 now) {
  const __u32 until = now + lifetime_of(head, state);
  if (source_time_of(found->entry) < until)
    replace_source(found->set, found->entry, entry_until(found->entry, until), now);
}

/* Remembers the source of a segment without SYN. */
static __always_inline void learn_source(const struct filter_head* head, const struct found_source* found, __u32 state,
                                         __u32 now) {
  if (state >= SOURCE_LEARNED) {
    keep_source(head, found, state, now);
  } else if (state == SOURCE_UNKNOWN) {
    put_source(found, SOURCE_SEEN, now, now);
  } else if (now - source_time_of(found->entry) >= SOURCE_LEARN_UNITS) {
    put_source(found, SOURCE_LEARNED, now + head->learned_units, now);
  }
}
