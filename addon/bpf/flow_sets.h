/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Distinguishes new flows from recent ones in fixed memory: signatures in sets, in which the longest unused is
 * replaced. One CPU's sets are its own, so nothing here is atomic. Knows hashes only.
 */
#pragma once

#include "inline_abi.h"
#include "parse_packet.h"

/* The sum of products of pairs of words, each with a secret added (the NH hash, RFC 4418), then mixed. A sender
 * who does not know the seed cannot choose flows that collide. */
static __always_inline __u64 flow_hash(const struct packet* packet, const volatile struct inline_settings* settings) {
  const __u32* s = packet->source.words;
  const __u32* d = packet->destination.words;
  const volatile __u32* seed = settings->flow_seed;
  __u32 ports = (__u32)packet->traits.source_port << 16 | packet->traits.destination_port;
  __u64 hash = (__u64)(__u32)(s[3] + seed[0]) * (__u32)(d[3] + seed[1]) +
               (__u64)(__u32)(ports + seed[2]) * (__u32)(packet->traits.protocol + seed[3]);
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

/* The highest bit of each lane of 16 bits that is 0. A lane above such a one may be marked as well. */
static __always_inline __u64 zero_lanes(__u64 lanes) {
  const __u64 ones = 0x0001000100010001;
  return (lanes - ones) & ~lanes & ones << 15;
}

/* Whether the set does not know the flow; it does afterwards. Without branches that a processor could not predict: for
 * most new flows it waits for the set's cache line, and can go on with the next packet meanwhile. */
static __always_inline int flow_is_new(struct inline_flow_set* set, __u64 hash) {
  __u64 signature = hash >> 48;
  signature |= signature == 0;
  const __u64 same = signature * 0x0001000100010001;
  const __u64 recent = set->recent, older = set->older;
  if (zero_lanes(recent ^ same)) return 0;
  const __u64 found = zero_lanes(older ^ same);
  /* The lanes that move on by one: up to the one found, or all. */
  const __u64 moved = ((found & -found) << 1) - 1;
  set->older = (older & ~moved) | ((older << 16 | recent >> 48) & moved);
  set->recent = recent << 16 | signature;
  return found == 0;
}
