/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which named sets of prefixes a packet's source lies in (named_sets_abi.h). Knows nothing of verdicts.
 *
 * Not the kernel's LPM trie: see filter_tables.h. It also would need one look-up for each set, and cannot be replaced
 * as a whole together with the others.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "named_sets_abi.h"
#include "parse_packet.h"
#include "verifier_bounds.h"

/* Arrays of any size may follow one another in the outer map's slot (BPF_F_INNER_MAP, since Linux 5.10). */
struct sets_table {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct sets_line));
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct sets_table);
} filter_named_sets SEC(".maps");

static __always_inline __u64 source_piece(const struct packet* packet, __u64 at) {
  at = bounded(2 * at, 2 * (SETS_ADDRESS_PIECES - 1));
  return packet->source.bytes[at] << 8 | packet->source.bytes[at + 1];
}

/* The bits of the sets that the packet's source lies in; 0 without sets. Each call may see another generation of the
 * sets, so a packet asks once. Not static for the reason of parse_packet. */
__noinline __u64 sets_of_source(struct packet* packet) {
  __u32 number = 0;
  void* table = bpf_map_lookup_elem(&filter_named_sets, &number);
  if (!packet || !table) return 0;
  const int of_ipv4 = is_ipv4(&packet->source);
  __u64 at = of_ipv4 ? SETS_FIRST_PIECE_IPV4 : 0;
  __u64 piece = source_piece(packet, at);
  number = (of_ipv4 ? SETS_INDEX_IPV4 : SETS_INDEX_IPV6) + piece / SETS_INDEX_TARGETS;
  struct sets_line* line = bpf_map_lookup_elem(table, &number);
  if (!line) return 0;
  __u32 target = line->index[bounded(piece, SETS_INDEX_TARGETS - 1)];
  for (__u32 step = 0; step < SETS_STEPS_MAX && target & SETS_IS_LINE; step++) {
    number = target & SETS_NUMBER_MASK;
    line = bpf_map_lookup_elem(table, &number);
    if (!line) return 0;
    at += target >> SETS_NEXT_PIECE_BIT & 1;
    piece = source_piece(packet, at);
    /* A number of 15 would still be within the line. */
    target = line->targets[bounded(sets_target_of(line->keys, piece), 15)];
  }
  if (!target) return 0;
  number = SETS_BITMAPS + target / SETS_LINE_BITMAPS;
  line = bpf_map_lookup_elem(table, &number);
  return line ? line->bitmaps[bounded(target, SETS_LINE_BITMAPS - 1)] : 0;
}
