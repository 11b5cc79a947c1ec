/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two generations of two sets each, of about a million prefixes that together are all of IPv4: every /20 is in one set
 * of its generation, chosen by a hash, and no set of one generation is one of the other. */
#pragma once

#include <linux/types.h>

#define SET_PIECE_BITS 20
#define SET_PIECES (1u << SET_PIECE_BITS)

struct set_counts {
  __u64 first, second, neither;
};

static inline __attribute__((always_inline)) __u64 set_bit_of(__u32 generation, __u32 address) {
  const __u32 hash = (address >> (32 - SET_PIECE_BITS)) * (generation ? 0x85ebca6bu : 0x9e3779b1u);
  return 2 * generation + (hash >> 31);
}

static inline __attribute__((always_inline)) __u64 set_bitmap_of(__u32 generation, __u32 address) {
  return 1ull << set_bit_of(generation, address);
}
