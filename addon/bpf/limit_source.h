/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The token bucket of each source under a rule that limits sources, or destinations (allowance_abi.h). Knows nothing of
 * verdicts. */
#pragma once

#include "allowance_abi.h"
#include "filter_tables.h"

/* Sets of token buckets. Not the kernel's LRU hash: see source_table.h. */
FILTER_MAP(allowance_set) filter_allowances SEC(".maps");

/* Bytes of the longest frame, with room for its link header. */
#define LENGTH_MAX 65600

static __always_inline __u64 half_mask(__u32 bits) {
  if (bits == 0) return 0;
  return bpf_cpu_to_be64(~0ull << (64 - (bits < 64 ? bits : 64)));
}

/* Hash of the part of the address that is a source for the rule, and of the rule. */
static __always_inline __u64 allowance_hash(const struct filter_head* head, const struct packet* packet,
                                            const struct filter_rule* rule, __u32 number) {
  const __u32 length = rule->limit_length;
  const int by_destination = rule->action == FILTER_LIMIT_DESTINATION;
  struct ip_address source = by_destination ? packet->destination : packet->source, of_rule = {};
  source.halves[0] &= half_mask(length < 64 ? length : 64);
  source.halves[1] &= half_mask(length < 64 ? 0 : length - 64);
  of_rule.words[2] = bpf_htonl(0xffff);
  of_rule.words[3] = number;
  return filter_pair_hash(&source, &of_rule, head->seed);
}

static __always_inline __u64 allowance_cost(const struct filter_rule* rule, __u32 wire) {
  const __u64 ns = (rule->byte_cost * wire >> 16) + (1u << (ALLOWANCE_UNIT_SHIFT - 1));
  const __u64 cost = rule->packet_cost + (ns >> ALLOWANCE_UNIT_SHIFT);
  return cost < ALLOWANCE_COST_MAX ? cost : ALLOWANCE_COST_MAX;
}

/* The way of the hash's own bucket, or else of the one that owes least. Not static for the reason of parse_packet. */
__noinline __u32 allowance_way(__u64 hash, __u32 set_index, __u64 now) {
  struct allowance_set* set = bpf_map_lookup_elem(&filter_allowances, &set_index);
  if (!set) return 0;
  __u64 least = ~0ull;
  for (__u32 way = 0; way < ALLOWANCE_WAYS; way++) {
    const __u64 entry = *(volatile __u64*)&set->sources[way];
    if ((entry ^ hash) >> ALLOWANCE_SIGNATURE_AT == 0) return way;
    /* The way is in the lowest bits of what is compared, so that there is one way through the loop. */
    const __u64 owed = allowance_debt(entry, now, ALLOWANCE_COST_MAX) * ALLOWANCE_WAYS + way;
    least = owed < least ? owed : least;
  }
  return least % ALLOWANCE_WAYS;
}

/* Dropped packets are charged in part: slightly above the limit a source still gets almost its rate, far above it
 * nothing. No source is charged so far ahead that more than a packet's time passes before the
 * next is let through. */
static __always_inline void charge_dropped(__u64* bucket, __u64 old, __u64 debt, __u64 cost) {
  const __u64 more = cost / ALLOWANCE_DROPPED_PART;
  if (debt + more <= ALLOWANCE_BURST + cost) __sync_val_compare_and_swap(bucket, old, allowance_entry(old, old + more));
}

/* Whether the packet is within what its source may send; its cost is charged. Not static for the reason of
 * parse_packet. */
__noinline int is_within_allowance(struct packet* packet, __u32 number, __u32 wire) {
  struct filter_head* head = filter_head_of();
  struct filter_rule* rule = bpf_map_lookup_elem(&filter_rules, &number);
  if (!packet || !head || !rule) return 1;
  const __u64 hash = allowance_hash(head, packet, rule, number);
  __u32 index = (hash & 0xffffffff) * head->source_sets >> 32;
  struct allowance_set* set = bpf_map_lookup_elem(&filter_allowances, &index);
  if (!set) return 1;
  const __u64 now = bpf_ktime_get_boot_ns() >> ALLOWANCE_UNIT_SHIFT;
  for (int i = 0; i < FILTER_TRIES; i++) {
    __u64* bucket = &set->sources[bounded(allowance_way(hash, index, now), ALLOWANCE_WAYS - 1)];
    const __u64 old = *(volatile __u64*)bucket, cost = allowance_cost(rule, wire);
    const __u64 cost_most = allowance_cost(rule, LENGTH_MAX);
    const __u64 debt = (old ^ hash) >> ALLOWANCE_SIGNATURE_AT ? 0 : allowance_debt(old, now, cost_most);
    if (debt > ALLOWANCE_BURST) {
      if (rule->action != FILTER_LIMIT_DESTINATION) charge_dropped(bucket, old, debt, cost);
      return 0;
    }
    if (__sync_val_compare_and_swap(bucket, old, allowance_entry(hash, now + debt + cost)) == old) return 1;
  }
  return 0;
}
