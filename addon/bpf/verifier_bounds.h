/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bounds that every kernel's verifier sees. It follows values from instruction to instruction and knows less than the
 * compiler does: after a byte swap a value is unbounded for kernels before 6.19, and the compiler, which knows that 16
 * swapped bits are below 65,536, leaves the mask out, or masks one copy of an index and uses another.
 *
 * It follows each way through the body of a loop in each round. Where a loop counts down from a number of which only
 * the bounds are known, it does so once: a lower count lies within a higher one, and each further way ends at a state
 * that the first way has been through.
 */
#pragma once

#include <linux/types.h>

/* The lowest bits of `value`, as many as the constant `mask` has. The compiler neither removes the instruction nor
 * knows what was in the register before. */
#define bounded(value, mask)                                    \
  ({                                                            \
    __u64 bounded_value = (value);                              \
    asm volatile("%0 &= %1" : "+r"(bounded_value) : "i"(mask)); \
    bounded_value;                                              \
  })

/* Runs with `left` from `count` down to 1; the verifier must know bounds of `count`, and not its value. The compiler
 * does not see how `left` changes: it would count up instead, or compare with 0, from which older verifiers
 * derive nothing. */
#define for_countdown(left, count) for (__s64 left = (count); left > 0; left--, ({ asm volatile("" : "+r"(left)); }))
