/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012), of messages whose last word already holds
 * what the paper pads it with: the length in its highest byte.
 */
#pragma once

#include <linux/types.h>

struct siphash_state {
  __u64 v0, v1, v2, v3;
};

static inline __attribute__((always_inline)) __u64 siphash_rotate(__u64 word, __u32 bits) {
  return word << bits | word >> (64 - bits);
}

static inline __attribute__((always_inline)) void siphash_round(struct siphash_state* state) {
  state->v0 += state->v1;
  state->v2 += state->v3;
  state->v1 = siphash_rotate(state->v1, 13) ^ state->v0;
  state->v3 = siphash_rotate(state->v3, 16) ^ state->v2;
  state->v0 = siphash_rotate(state->v0, 32) + state->v3;
  state->v2 += state->v1;
  state->v1 = siphash_rotate(state->v1, 17) ^ state->v2;
  state->v3 = siphash_rotate(state->v3, 21) ^ state->v0;
  state->v2 = siphash_rotate(state->v2, 32);
}

static inline __attribute__((always_inline)) struct siphash_state siphash_begin(const __u64* key) {
  const struct siphash_state state = {.v0 = key[0] ^ 0x736f6d6570736575ull,
                                      .v1 = key[1] ^ 0x646f72616e646f6dull,
                                      .v2 = key[0] ^ 0x6c7967656e657261ull,
                                      .v3 = key[1] ^ 0x7465646279746573ull};
  return state;
}

static inline __attribute__((always_inline)) void siphash_add(struct siphash_state* state, __u64 word) {
  state->v3 ^= word;
  siphash_round(state);
  siphash_round(state);
  state->v0 ^= word;
}

static inline __attribute__((always_inline)) __u64 siphash_end(struct siphash_state* state) {
  state->v2 ^= 0xff;
  siphash_round(state);
  siphash_round(state);
  siphash_round(state);
  siphash_round(state);
  return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}
