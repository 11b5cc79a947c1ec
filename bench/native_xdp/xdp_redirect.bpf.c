// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sends every frame out by one interface with MAC addresses that are given, and looks at nothing: the fastest possible
// way on.
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_helpers.h>

// The number that the benches give the interface.
#define OUT_INDEX 77

SEC("xdp")
int xdp_redirect(struct xdp_md* ctx) {
  struct ethhdr* ethernet = (void*)(long)ctx->data;
  if ((void*)(ethernet + 1) > (void*)(long)ctx->data_end) return XDP_DROP;
  const __u8 next[ETH_ALEN] = {2, 0, 0, 0, 0x99, 1}, ours[ETH_ALEN] = {2, 0, 0, 0, 0x99, 2};
  __builtin_memcpy(ethernet->h_dest, next, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, ours, ETH_ALEN);
  return bpf_redirect(OUT_INDEX, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
