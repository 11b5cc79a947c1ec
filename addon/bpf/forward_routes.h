/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Routes that a CPU keeps for some milliseconds, so that packets to the same destination share a look-up in the
 * kernel's tables, in the networks, and of the interface. Only while the owner says that the kernel's routes and rules
 * decide by the destination alone; knows nothing of tunnels.
 */
#pragma once

#include "forward_tables.h"

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, FORWARD_ROUTE_SETS);
  __type(key, __u32);
  __type(value, struct forward_route_set);
} forward_routes SEC(".maps");

static __always_inline int is_same_mac(const __u8* one, const __u8* other) {
  return *(const __u32*)one == *(const __u32*)other && *(const __u16*)(one + 4) == *(const __u16*)(other + 4);
}

/* Where the route of this packet is kept, if it is. */
static __always_inline struct forward_route_set* routes_for(const struct forwarding* packet) {
  const __u64 hash = (packet->destination.halves[0] + packet->destination.halves[1]) * 0x9e3779b97f4a7c15ull;
  __u32 set = hash >> (64 - FORWARD_ROUTE_SET_BITS);
  return bpf_map_lookup_elem(&forward_routes, &set);
}

static __always_inline int is_for(const struct forward_route* route, const struct forwarding* packet, __u32 ingress,
                                  __u32 generation, __u64 now_ns) {
  return route->kept_until_ns > now_ns && route->generation == generation && route->ingress == ingress &&
         route->destination.halves[1] == packet->destination.halves[1] &&
         route->destination.halves[0] == packet->destination.halves[0] && route->is_ipv4 == packet->is_ipv4 &&
         route->mtu >= packet->length && is_same_mac(route->arrival_mac, packet->ethernet.h_dest);
}

/* 0: it is not kept. */
static __always_inline const struct forward_route* kept_route(const struct forward_route_set* set,
                                                              const struct forwarding* packet, __u32 ingress,
                                                              __u32 generation, __u64 now_ns) {
  if (is_for(&set->routes[0], packet, ingress, generation, now_ns)) return &set->routes[0];
  if (is_for(&set->routes[1], packet, ingress, generation, now_ns)) return &set->routes[1];
  return 0;
}

/* After a look-up that succeeded. */
static __always_inline struct forward_route* keep_route(struct forward_route_set* set, const struct forwarding* packet,
                                                        const struct bpf_fib_lookup* found, const __u32 macs[3]) {
  const int is_first_older = set->routes[0].kept_until_ns < set->routes[1].kept_until_ns;
  struct forward_route* route = is_first_older ? &set->routes[0] : &set->routes[1];
  route->destination = packet->destination;
  route->egress = found->ifindex;
  __builtin_memcpy(route->arrival_mac, packet->ethernet.h_dest, ETH_ALEN);
  /* Before Linux 5.12 this is still the length of the packet, which is less. */
  route->mtu = found->mtu_result;
  for (int i = 0; i < 3; i++) route->macs[i] = macs[i];
  route->is_ipv4 = packet->is_ipv4;
  return route;
}
