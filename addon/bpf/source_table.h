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

static __always_inline __u64 source_hash(const struct filter_head* head, const struct inline_address* source,
                                         const struct inline_address* victim) {
  struct inline_address known = *source;
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

/* What an entry is worth: its state, and of those that are learned or validated until when, so that who sent last is
 * worth most. Left of the lowest bits, which are for the way. Not static for the reason of parse_packet. */
__noinline __u64 source_worth(__u64 entry, __u32 now) {
  const __u64 state = state_of(entry, now);
  return (state << 32 | (state >= SOURCE_LEARNED ? source_time_of(entry) : 0)) * SOURCE_WAYS;
}

static __always_inline __u32 state_of_worth(__u64 worth) { return worth / SOURCE_WAYS >> 32; }

/* What the entry is worth that is worth least of those in this state or a better one, or else least of all; its way is
 * in the lowest bits, against chance. Among equals that decides: a sender who knew which is next could choose it. One
 * way through the loop, as in allowance_way(). Not static for the reason of parse_packet. */
__noinline __u64 least_worth(__u32 set_index, __u32 now, __u32 state, __u32 chance) {
  struct source_set* set = bpf_map_lookup_elem(&filter_sources, &set_index);
  if (!set) return 0;
  /* Less than this wraps around. */
  const __u64 from = (__u64)state * SOURCE_WAYS << 32;
  __u64 least = ~0ull;
  for (__u32 way = 0; way < SOURCE_WAYS; way++) {
    const __u64 worth = source_worth(*(volatile __u64*)&set->sources[way], now) + (way ^ chance) - from;
    least = worth < least ? worth : least;
  }
  return least + from;
}

/* How many sources of a set are learned. Not static for the reason of parse_packet. */
__noinline __u32 learned_in(__u32 set_index, __u32 now) {
  struct source_set* set = bpf_map_lookup_elem(&filter_sources, &set_index);
  if (!set) return 0;
  __u32 others = 0;
  for (__u32 way = 0; way < SOURCE_WAYS; way++) {
    others += is_not_0(state_of_worth(source_worth(*(volatile __u64*)&set->sources[way], now)) ^ SOURCE_LEARNED);
  }
  return SOURCE_WAYS - others;
}

/* In place of the source's old entry; where there is none, 0, of the one that is worth least, if its state is no better
 * than this one's. A source that proved its address takes none of the ways that are kept for learned ones, but the way
 * of another that proved its own. Not static for the reason of parse_packet. */
__noinline int replace_source(__u32 set_index, __u64 old, __u64 entry, __u32 now) {
  struct source_set* set = bpf_map_lookup_elem(&filter_sources, &set_index);
  if (!set) return 0;
  for (__u32 way = 0; old && way < SOURCE_WAYS; way++) {
    if (*(volatile __u64*)&set->sources[way] != old) continue;
    __sync_val_compare_and_swap(&set->sources[way], old, entry);
    return 0;
  }
  const __u32 chance = bpf_get_prandom_u32() % SOURCE_WAYS, most = entry & SOURCE_STATE_MASK;
  /* Most sets have ways that are free, and one of them is found at once as often as there are. */
  __u64 way = chance;
  if (state_of(*(volatile __u64*)&set->sources[bounded(way, SOURCE_WAYS - 1)], now) != SOURCE_UNKNOWN) {
    __u64 least = least_worth(set_index, now, SOURCE_UNKNOWN, chance);
    if (most == SOURCE_VALIDATED && state_of_worth(least) == SOURCE_LEARNED &&
        learned_in(set_index, now) <= SOURCE_LEARNED_WAYS) {
      least = least_worth(set_index, now, SOURCE_VALIDATED, chance);
    }
    way = least ^ chance;
  }
  __u64* slot = &set->sources[bounded(way, SOURCE_WAYS - 1)];
  const __u64 other = *(volatile __u64*)slot;
  if (state_of(other, now) <= most) __sync_val_compare_and_swap(slot, other, entry);
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
  if (source_time_of(found->entry) < until) put_source(found, state, until, now);
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
