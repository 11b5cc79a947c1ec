/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The allowance of each source by a rule that limits sources: a token bucket for each, in one word. The kernel writes
 * this table, and its owner only makes it.
 *
 * A bucket is the time until which all that was let through is paid for. One whose time has come is equal to none, so
 * that the table holds only sources that sent more than their rate in the last second, and a flood of ever new sources
 * with a packet each passes through it without a trace. If a set is full of such, the one that owes least is replaced.
 */
#pragma once

#include <linux/types.h>

#include "inline_abi.h"

/* A word is the highest bits of the hash of source and rule, and a time in units of 2^8 ns of the boot-time clock,
 * which begins again every 78 hours. */
#define ALLOWANCE_SIGNATURE_AT 40
#define ALLOWANCE_TIME_MASK ((1ull << ALLOWANCE_SIGNATURE_AT) - 1)
#define ALLOWANCE_UNIT_SHIFT 8
/* How far ahead of its rate a source may send: what it may send in a second. */
#define ALLOWANCE_BURST (1000000000ull >> ALLOWANCE_UNIT_SHIFT)
/* The source of a dropped packet is charged the packet's cost divided by this. */
#define ALLOWANCE_DROPPED_PART 20u
/* Nothing costs more than this, and no bucket is further ahead than this and the burst. */
#define ALLOWANCE_COST_MAX (1ull << 32)

/* One cache line. */
#define ALLOWANCE_WAYS 8u

struct allowance_set {
  __u64 sources[ALLOWANCE_WAYS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct allowance_set) == 64);

/* The debt of a source at a time, in units. A debt above the burst plus `cost_most`, the highest cost of a packet, is
 * past: the clock has wrapped around since. */
static inline __attribute__((always_inline)) __u64 allowance_debt(__u64 entry, __u64 now, __u64 cost_most) {
  const __u64 ahead = (entry - now) & ALLOWANCE_TIME_MASK;
  return ahead <= ALLOWANCE_BURST + cost_most ? ahead : 0;
}
static inline __attribute__((always_inline)) __u64 allowance_entry(__u64 hash, __u64 time) {
  return hash >> ALLOWANCE_SIGNATURE_AT << ALLOWANCE_SIGNATURE_AT | (time & ALLOWANCE_TIME_MASK);
}
