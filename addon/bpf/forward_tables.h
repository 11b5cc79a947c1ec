/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of forwarding, as its owner makes them (core/forward/forward_maps.cpp). */
#pragma once

#include "forward_packet.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct forward_head);
} forward_head SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, FORWARD_TUNNELS_MAX);
  __type(key, __u32);
  __type(value, struct forward_tunnel);
} forward_tunnels SEC(".maps");

/* Networks and tunnels together: the longest prefix decides. */
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FORWARD_PREFIXES_MAX);
  __uint(key_size, sizeof(struct inline_prefix4));
  __uint(value_size, sizeof(__u32));
} forward_prefixes4 SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FORWARD_PREFIXES_MAX);
  __uint(key_size, sizeof(struct inline_prefix6));
  __uint(value_size, sizeof(__u32));
} forward_prefixes6 SEC(".maps");

/* By number of interface: those that frames arrive on, and those that take frames. The kernel removes an interface that
 * goes from the second. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, FORWARD_PORTS_MAX);
  __type(key, __u32);
  __type(value, struct forward_port);
} forward_ports SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
  __uint(max_entries, FORWARD_PORTS_MAX);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} forward_egress SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct forward_stats);
} forward_stats SEC(".maps");

static __always_inline struct forward_head* forward_head_of(void) {
  __u32 slot = 0;
  return bpf_map_lookup_elem(&forward_head, &slot);
}

/* The value of the longest prefix; 0: the address is in none. */
static __always_inline const __u32* find_prefix(const struct ip_address* address, int is_ipv4) {
  if (is_ipv4) {
    struct inline_prefix4 key = {.length = 32, .address = address->words[3]};
    return bpf_map_lookup_elem(&forward_prefixes4, &key);
  }
  struct inline_prefix6 key = {.length = 128, .address = *address};
  return bpf_map_lookup_elem(&forward_prefixes6, &key);
}

/* 0 where the prefix has none. */
static __always_inline const struct forward_tunnel* tunnel_of(const __u32* prefix) {
  if (!prefix || *prefix == FORWARD_NO_TUNNEL) return 0;
  __u32 number = *prefix - 1;
  return bpf_map_lookup_elem(&forward_tunnels, &number);
}
