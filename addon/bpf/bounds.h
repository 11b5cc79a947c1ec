/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bounds that every kernel's verifier sees. It follows values from instruction to instruction and knows less than the
 * compiler does: after a byte swap a value is unbounded for kernels before 6.19, and the compiler, which knows that 16
 * swapped bits are below 65,536, leaves the mask out, or masks one copy of an index and uses another.
 *
 * The verifier follows a loop with a constant start round by round, which multiplies the ways through its body. Of a loop
 * that counts down from a number of which it knows the bounds only, the second round lies within the first, and it stops
 * there.
 */
#pragma once

#include <linux/types.h>

/* The lowest bits of `value`, as many as the constant `mask` has. The compiler neither removes the instruction nor knows
 * what was in the register before. */
#define bounded(value, mask)                                         \
  ({                                                                 \
    __u64 bounded_value = (value);                                   \
    asm volatile("%0 &= %1" : "+r"(bounded_value) : "i"(mask));      \
    bounded_value;                                                   \
  })

/* Runs with `left` from `count` down to 1; the verifier must not know `count`. The compiler does not see how `left`
 * changes: it would count up instead, or ask whether it is 0, which tells an older verifier nothing. */
#define for_countdown(left, count, mask) \
  for (__s64 left = bounded(count, mask); left > 0; left--, ({ asm volatile("" : "+r"(left)); }))
