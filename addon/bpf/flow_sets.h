/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Distinguishes new flows from recent ones in fixed memory: signatures in sets, in which the longest unused is
 * replaced. One CPU's sets are its own, so nothing here is atomic. Knows hashes only.
 */
#pragma once

#include "inline_abi.h"
#include "parse_packet.h"

#define FLOW_IN_USE 1u
#define FLOW_STAMP_BITS 12
#define FLOW_STAMP_MASK ((1u << FLOW_STAMP_BITS) - 2)

/* The sum of products of pairs of words, each with a secret added (the NH hash, RFC 4418), then mixed. A sender
 * who does not know the seed cannot choose flows that collide. */
static __always_inline __u64 flow_hash(const struct packet* packet, const volatile struct inline_settings* settings) {
  const __u32* s = packet->source.words;
  const __u32* d = packet->destination.words;
  const volatile __u32* seed = settings->flow_seed;
  __u32 ports = (__u32)packet->source_port << 16 | packet->destination_port;
  __u64 hash = (__u64)(__u32)(s[3] + seed[0]) * (__u32)(d[3] + seed[1]) +
               (__u64)(__u32)(ports + seed[2]) * (__u32)(packet->protocol + seed[3]);
  /* Words that are the same in all IPv4 packets distinguish nothing. */
  if (s[2] != bpf_htonl(0xffff) || (s[0] | s[1] | d[0] | d[1]) != 0) {
    hash += (__u64)(__u32)(s[0] + seed[4]) * (__u32)(s[1] + seed[5]) +
            (__u64)(__u32)(d[0] + seed[6]) * (__u32)(d[1] + seed[7]) +
            (__u64)(__u32)(s[2] + seed[8]) * (__u32)(d[2] + seed[9]);
  }
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

/* What a way holds of a flow that was seen now. `epoch` counts up slowly and may wrap around. */
static __always_inline __u32 flow_way(__u64 hash, __u32 epoch) {
  return (__u32)hash << FLOW_STAMP_BITS | (epoch << 1 & FLOW_STAMP_MASK) | FLOW_IN_USE;
}

/* Whether a row's last flow is this one, and was looked up in the sets so recently that they need no update. */
static __always_inline int is_last_flow(__u32 last, __u32 now) {
  const __u32 recent = 16 << 1;
  return ((last ^ now) & ~FLOW_STAMP_MASK) == 0 && ((now - last) & FLOW_STAMP_MASK) <= recent;
}

/* Whether the set does not know the flow; it does afterwards. Not static for the reason of parse_packet. */
__noinline int flow_is_new(struct inline_flow_set* set, __u32 now) {
  if (!set) return 0;
  const __u32 signature = now & ~FLOW_STAMP_MASK;
#pragma unroll
  for (int i = 0; i < INLINE_FLOW_WAYS; i++) {
    if ((set->ways[i] & ~FLOW_STAMP_MASK) != signature) continue;
    if (set->ways[i] != now) set->ways[i] = now;
    return 0;
  }
  __u32 oldest = 0;
  __u32 best = 0;
#pragma unroll
  for (int i = 0; i < INLINE_FLOW_WAYS; i++) {
    __u32 way = set->ways[i];
    __u32 age = way == 0 ? FLOW_STAMP_MASK + 1 : (now - way) & FLOW_STAMP_MASK;
    if (age >= best) {
      best = age;
      oldest = i;
    }
  }
  set->ways[oldest & (INLINE_FLOW_WAYS - 1)] = now;
  return 1;
}
