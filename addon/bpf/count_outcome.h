/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what becomes of each packet to a watched destination, in the same instant for all outcomes. */
#pragma once

#include "filter_tables.h"

/* Buckets of the watched destinations, with numbers of rows in outcome_destinations. */
FILTER_MAP(filter_bucket) outcome_ways SEC(".maps");
FILTER_MAP(ip_address) outcome_destinations SEC(".maps");
/* As filter_hits: rows of a stripe lie together. */
FILTER_MAP(outcome_row) outcome_rows SEC(".maps");
/* Packets that were kept from other destinations; rows of a stripe lie together. */
FILTER_MAP(outcome_early) outcome_early SEC(".maps");

/* The number of the destination's row, plus 1; 0: it is not watched. */
static __always_inline __u32 find_watched(const struct ip_address* destination, __u64 hash) {
  __u32 bucket = filter_bucket_of(hash, OUTCOME_BUCKETS);
  struct filter_bucket* ways = bpf_map_lookup_elem(&outcome_ways, &bucket);
  if (!ways) return 0;
  for (int i = 0; i < FILTER_BUCKET_WAYS; i++) {
    __u32 way = ways->ways[i];
    if (!has_tag(way, filter_tag(hash))) continue;
    __u32 row = (way & ~FILTER_TAG_MASK) - 1;
    struct ip_address* address = bpf_map_lookup_elem(&outcome_destinations, &row);
    if (address && same_address(address, destination)) return row + 1;
  }
  return 0;
}

/* One in OUTCOME_EARLY_EVERY drops of a CPU by one verdict is counted early, for all of them: most are of traffic that
 * is always dropped, and must not cost more for traffic that may become an attack. A power of two. */
enum { OUTCOME_EARLY_EVERY = 16 };

static __always_inline int is_early_due(__u64 drops) { return (drops & (OUTCOME_EARLY_EVERY - 1)) == 0; }

static __always_inline void begin_early(struct outcome_early* row, __u64 now_ns) {
  row->begun_ns = now_ns;
  __builtin_memset(&row->now, 0, sizeof(row->now));
}

/*
 * Of a destination that is not watched. Where CPUs share a stripe, a count may be lost, and so is what a destination of
 * the same hash had: rows are there for floods, whose packets come without a pause.
 */
__noinline int count_early(struct packet* packet, __u32 index, __u32 outcome, __u32 wire, __u64 now_ns) {
  struct outcome_early* row = bpf_map_lookup_elem(&outcome_early, &index);
  if (!packet || !row) return 0;
  if (!same_address(&row->destination, &packet->destination)) {
    if (row->last_ns + OUTCOME_EARLY_IDLE_NS > now_ns) return 0;
    row->destination = packet->destination;
    __builtin_memset(&row->before, 0, sizeof(row->before));
    begin_early(row, now_ns);
  } else if (row->begun_ns + OUTCOME_EARLY_NS <= now_ns) {
    if (row->begun_ns + 2 * OUTCOME_EARLY_NS > now_ns) {
      row->before = row->now;
    } else {
      __builtin_memset(&row->before, 0, sizeof(row->before));
    }
    begin_early(row, now_ns);
  }
  row->last_ns = now_ns;
  struct filter_count* count = &row->now.outcomes[bounded(outcome, OUTCOMES)];
  count->packets += OUTCOME_EARLY_EVERY;
  count->bytes += OUTCOME_EARLY_EVERY * (__u64)wire;
  return 0;
}

/* Verdicts on frames that have no destination. */
static __always_inline int is_of_error(__u32 verdict) {
  return verdict == FILTER_PASS_NOT_IP || verdict == FILTER_PASS_MALFORMED || verdict == FILTER_DROP_TAGS;
}

/* Not static for the reason of parse_packet. It looks the statistics up again, since what the caller keeps for it is on
 * the stack of all calls below: Linux 6.1 has 512 bytes for these together. `is_due`: to be counted early. */
__noinline int count_watched(struct packet* packet, __u32 verdict, __u32 wire, __u32 is_due) {
  struct filter_head* head = filter_head_of();
  __u32 slot = 0;
  struct filter_stats* stats = bpf_map_lookup_elem(&filter_stats, &slot);
  if (!packet || !head || !stats || is_of_error(verdict)) return 0;
  const __u64 hash = filter_prefix_hash(&packet->destination, 128, head->seed);
  const __u32 number = find_watched(&packet->destination, hash);
  const __u32 stripe = bpf_get_smp_processor_id() & (head->stripes - 1);
  const __u32 outcome = packet_outcome_of(verdict, (int)stats->is_filter_rule);
  if (number == 0) {
    if (outcome == OUTCOME_PASSED || !is_due) return 0;
    const __u32 early = stripe * OUTCOME_EARLY_ROWS + ((__u32)hash & (OUTCOME_EARLY_ROWS - 1));
    return count_early(packet, early, outcome, wire, stats->boot_ns);
  }
  __u32 index = stripe * OUTCOME_DESTINATIONS_MAX + number - 1;
  struct outcome_row* row = bpf_map_lookup_elem(&outcome_rows, &index);
  if (!row) return 0;
  struct filter_count* count = &row->outcomes[bounded(outcome, OUTCOMES)];
  if (head->are_stripes_shared) {
    __sync_fetch_and_add(&count->packets, 1);
    __sync_fetch_and_add(&count->bytes, wire);
  } else {
    count->packets++;
    count->bytes += wire;
  }
  return 0;
}
