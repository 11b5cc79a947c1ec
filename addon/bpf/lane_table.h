/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the row of an address in a lane, and adds one. Knows nothing of packets and networks. Why hosts are not in a
 * hash map of the kernel is said at struct inline_row (inline_abi.h).
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "inline_abi.h"

/* The state of each lane. An array that the reader maps, since both sides write it; a per-CPU array has one value a
 * CPU, and a CPU has two lanes where outgoing traffic is counted. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct inline_lane);
} lanes SEC(".maps");

/* Near and far buckets of all lanes, each one cache line. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct inline_bucket);
} buckets SEC(".maps");

/* The rows of all lanes, in chunks: an array cannot grow, so the reader adds chunks to an array of them as a lane fills
 * up. One array for the most hosts would take its memory on every CPU from the start. */
struct row_chunk {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, INLINE_CHUNK_ROWS);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct inline_row));
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct row_chunk);
} row_chunks SEC(".maps");

static __always_inline struct inline_row* row_at(__u32 lane, __u32 row, __u32 chunks) {
  __u32 chunk = lane * chunks + (row >> INLINE_CHUNK_BITS);
  void* rows = bpf_map_lookup_elem(&row_chunks, &chunk);
  __u32 at = row & (INLINE_CHUNK_ROWS - 1);
  return rows ? bpf_map_lookup_elem(rows, &at) : 0;
}

static __always_inline int is_same(const struct ip_address* one, const struct ip_address* other) {
  return ((one->halves[0] ^ other->halves[0]) | (one->halves[1] ^ other->halves[1])) == 0;
}

/* A free row, or 0. Writes its number to `number`. */
static __always_inline struct inline_row* take_row(__u32 lane, __u32 chunks, __u32* number) {
  struct inline_lane* state = bpf_map_lookup_elem(&lanes, &lane);
  if (!state) return 0;
  if (!state->free_row && state->given_back) {
    state->free_row = state->given_back;
    *(volatile __u32*)&state->given_back = 0;
  }
  if (state->free_row) {
    *number = state->free_row - 1;
    struct inline_row* row = row_at(lane, *number, chunks);
    if (row) state->free_row = row->address.words[0];
    return row;
  }
  if (state->used_rows >= state->row_limit) return 0;
  *number = state->used_rows;
  struct inline_row* row = row_at(lane, *number, chunks);
  if (row) state->used_rows++;
  return row;
}

struct host_key {
  const struct ip_address* address;
  __u32 tag;
  __u32 lane;
  /* The way that is tried first. Most hosts have this one, so that the processor need not guess which it is. */
  __u64 way;
};

static __always_inline struct inline_bucket* bucket_at(__u32 index) { return bpf_map_lookup_elem(&buckets, &index); }

/* The row that the way leads to, if it is the address's. */
static __always_inline struct inline_row* row_of(__u32 way, const struct host_key* key, __u32 chunks) {
  if (way == 0 || (way & INLINE_TAG_MASK) != key->tag) return 0;
  struct inline_row* row = row_at(key->lane, (way & ~INLINE_TAG_MASK) - 1, chunks);
  return row && is_same(&row->address, key->address) ? row : 0;
}

/* The row of the address; 0 when this bucket knows none. */
static __always_inline struct inline_row* find_row(const struct inline_bucket* bucket, const struct host_key* key,
                                                   __u32 chunks) {
  if (!bucket) return 0;
  struct inline_row* row = row_of(bucket->ways[key->way], key, chunks);
  for (int i = 0; !row && i < INLINE_BUCKET_WAYS; i++) row = row_of(bucket->ways[i], key, chunks);
  return row;
}

static __always_inline __u32* empty_way(struct inline_bucket* bucket, __u64 first) {
  if (!bucket) return 0;
  if (bucket->ways[first] == 0) return &bucket->ways[first];
  for (int i = 0; i < INLINE_BUCKET_WAYS; i++) {
    if (bucket->ways[i] == 0) return &bucket->ways[i];
  }
  return 0;
}

/* A new row for the address; 0 when its buckets or the lane are full. */
static __always_inline struct inline_row* add_row(struct inline_bucket* near, struct inline_bucket* far,
                                                  const struct host_key* key, __u32 chunks) {
  __u32* way = empty_way(near, key->way);
  if (!way) way = empty_way(far, key->way);
  if (!way) return 0;
  __u32 number = 0;
  struct inline_row* row = take_row(key->lane, chunks, &number);
  if (!row) return 0;
  row->address = *key->address;
  row->counts.last_flow = 0;
  /* The address must be there before the first count: the reader takes both. */
  asm volatile("" ::: "memory");
  *way = key->tag | (number + 1);
  return row;
}
