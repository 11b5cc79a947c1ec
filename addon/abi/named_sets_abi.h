/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Named sets of prefixes, in one array of cache lines: for an address, the bitmap of all sets that it lies in. The
 * owner makes a new array for each change, and the kernel reads all of a look-up from one array, so that no packet is
 * judged by half a change.
 *
 * An address is read in pieces of 16 bits. For each family an index has a target for each value of the first piece. A
 * target is the number of a class of addresses, which are in the same sets, or that of a line with more targets: each
 * for the values from its key up to the next key. Such a line asks about the same piece as the one before, as in a
 * B-tree, or about the next piece. So the look-up among a million IPv4 prefixes reads the index, usually two lines of
 * targets, and the line of the bitmap.
 */
#pragma once

#include <linux/types.h>

#include "inline_abi.h"

#define NAMED_SETS_MAX 64u
#define SETS_LINE_TARGETS 10u
#define SETS_INDEX_TARGETS 16u
#define SETS_LINE_BITMAPS 8u

struct sets_line {
  union {
    /* Targets of the index. */
    __u32 index[SETS_INDEX_TARGETS];
    struct {
      __u32 targets[SETS_LINE_TARGETS];
      /* Ascending; the last one is repeated, with its target, in what is left of the line. Keys below the
       * first one are not looked up. */
      __u16 keys[SETS_LINE_TARGETS];
    };
    __u64 bitmaps[SETS_LINE_BITMAPS];
  };
};
FLOODWALL_ABI_ASSERT(sizeof(struct sets_line) == 64);

/* In a target: it is the number of a line, not of a class; and that line asks about the next piece. */
#define SETS_IS_LINE 0x80000000u
#define SETS_NEXT_PIECE_BIT 30
#define SETS_NEXT_PIECE (1u << SETS_NEXT_PIECE_BIT)
#define SETS_NUMBER_MASK (SETS_NEXT_PIECE - 1)

/* Where the parts begin, in lines. Lines of targets follow the bitmaps. */
#define SETS_PIECES 65536u
#define SETS_INDEX_LINES (SETS_PIECES / SETS_INDEX_TARGETS)
#define SETS_INDEX_IPV4 0u
#define SETS_INDEX_IPV6 SETS_INDEX_LINES
/* By class; class 0 is in no set. */
#define SETS_BITMAPS (2 * SETS_INDEX_LINES)

/* The pieces of an address in the mapped form. */
#define SETS_ADDRESS_PIECES 8u
#define SETS_FIRST_PIECE_IPV4 6u
/* A piece takes at most 5 lines (10^5 targets), and the first is found by the index. */
#define SETS_STEPS_MAX (5 * (SETS_ADDRESS_PIECES - 1))

/* Which target of a line is that of the piece. Without a branch, which the processor could not predict, and of which
 * the verifier would follow both ways; so the compiler is kept from seeing that a sign is a comparison. */
static inline __attribute__((always_inline)) __u32 sets_target_of(const __u16* keys, __u64 piece) {
  __u64 after = 0;
  for (__u32 i = 1; i < SETS_LINE_TARGETS; i++) {
    __u64 difference = piece - keys[i];
    __asm__ volatile("" : "+r"(difference));
    after += difference >> 63;
  }
  return (__u32)(SETS_LINE_TARGETS - 1 - after);
}
