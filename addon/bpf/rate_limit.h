/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The token bucket of a rule. */
#pragma once

#include "allowance_abi.h"
#include "filter_tables.h"

/* Whether the packet is within the rate limit; if so, its cost is charged. One token bucket for all CPUs: what passes
 * is never more than the rate, one burst and one packet of each CPU. */
static __always_inline int is_within_limit(struct filter_rule* rule, __u32 wire) {
  const __u64 now = bpf_ktime_get_boot_ns();
  const __u64 cost = (rule->byte_cost * wire >> 16) + ((__u64)rule->packet_cost << ALLOWANCE_UNIT_SHIFT);
  for (int i = 0; i < FILTER_TRIES; i++) {
    __u64 paid = *(volatile __u64*)&rule->paid_until_ns;
    __u64 start = paid > now ? paid : now;
    if (start - now > FILTER_BURST_NS) return 0;
    if (__sync_val_compare_and_swap(&rule->paid_until_ns, paid, start + cost) == paid) return 1;
  }
  return 0;
}
