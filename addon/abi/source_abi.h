/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sources of TCP that may reach a victim under attack, and the cookies by which they prove that they receive
 * packets sent to their address. The kernel writes this table, and its owner only reads it.
 *
 * A source is an IPv4 address or an IPv6 /64, since the owner of one address of a /64 has all of it; it is known for
 * one victim. Sources that proved their address are `validated`. Those whose segments without SYN were seen twice, at
 * least SOURCE_LEARN_UNITS apart, before there was an attack are `learned`: nothing proves them, but a flood that is
 * noticed sooner cannot put any there.
 */
#pragma once

#include <linux/types.h>

#include "inline_abi.h"

enum source_state {
  SOURCE_UNKNOWN = 0,
  /* Once, at the unit that the entry has as its time. */
  SOURCE_SEEN = 1,
  /* Until the unit that the entry has as its time. */
  SOURCE_LEARNED = 2,
  SOURCE_VALIDATED = 3,
};

/* An entry is one word, so that each change of it is whole: the state, a time, how it was proved, and the highest bits
 * of the hash of source and victim. That another source has the same bits in the same set happens to 1 in 2^32
 * packets. */
#define SOURCE_STATE_MASK 3u
#define SOURCE_TIME_AT 2
#define SOURCE_TIME_MASK ((1u << 26) - 1)
/* Proved by a reset, which any host without a firewall sends that gets an acknowledgement of what it never sent, also
 * for a SYN that another sent in its name (RFC 9293, section 3.10.7.1). */
#define SOURCE_BY_RESET_AT 28
#define SOURCE_BY_RESET (1u << SOURCE_BY_RESET_AT)
#define SOURCE_SIGNATURE_AT 29

/* A unit of time, 2^32 ns of the boot-time clock: 4.3 s. */
#define SOURCE_TIME_SHIFT 32
/* Seen twice within these, a source is learned. */
#define SOURCE_LEARN_UNITS 2u
#define SOURCE_SEEN_UNITS 16u

/* One cache line. */
#define SOURCE_WAYS 8u
/* The part of them that learned sources keep from those that prove their address later: a botnet's real addresses can
 * take the ways of each other, and of learned sources beyond half. The other half is not kept from learned sources by
 * number, since these never take the way of one that is validated. */
#define SOURCE_LEARNED_WAYS 4u

struct source_set {
  __u64 sources[SOURCE_WAYS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct source_set) == 64);

/* With all sources that there is room for, a set has half its ways in use. */
#define SOURCES_PER_SET 4u

static inline __attribute__((always_inline)) __u32 source_time_of(__u64 entry) {
  return (__u32)(entry >> SOURCE_TIME_AT) & SOURCE_TIME_MASK;
}
/* `state`: with SOURCE_BY_RESET, where that holds. */
static inline __attribute__((always_inline)) __u64 source_entry(__u64 hash, __u32 time, __u32 state) {
  const __u32 most = time < SOURCE_TIME_MASK ? time : SOURCE_TIME_MASK;
  return hash >> SOURCE_SIGNATURE_AT << SOURCE_SIGNATURE_AT | (__u64)most << SOURCE_TIME_AT | state;
}
/* The same with another time. */
static inline __attribute__((always_inline)) __u64 entry_until(__u64 entry, __u32 time) {
  const __u32 most = time < SOURCE_TIME_MASK ? time : SOURCE_TIME_MASK;
  return (entry & ~((__u64)SOURCE_TIME_MASK << SOURCE_TIME_AT)) | (__u64)most << SOURCE_TIME_AT;
}
static inline __attribute__((always_inline)) __u32 source_set_of(__u64 hash, __u32 sets) {
  return (__u32)((hash & 0xffffffff) * sets >> 32);
}

/* A cookie's period, 2^35 ns: 34 s. A cookie is good in its own and in the next. */
#define COOKIE_PERIOD_SHIFT 35
#define COOKIE_PERIOD_MASK 0x7fffffu
/* The lowest bits of a cookie say which of two periods and of two keys it was made with; the rest is the hash. */
#define COOKIE_ODD_PERIOD 1u
#define COOKIE_KEY 2u
#define COOKIE_TAG_MASK 3u
