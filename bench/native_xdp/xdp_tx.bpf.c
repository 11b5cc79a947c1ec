// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sends every IPv4 frame back with its addresses swapped, and looks at nothing else: the fastest possible answer.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_tx(struct xdp_md* ctx) {
  struct ethhdr* ethernet = (void*)(long)ctx->data;
  struct iphdr* ip = (void*)(ethernet + 1);
  if ((void*)(ip + 1) > (void*)(long)ctx->data_end) return XDP_DROP;
  __u8 address[ETH_ALEN];
  __builtin_memcpy(address, ethernet->h_dest, ETH_ALEN);
  __builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, address, ETH_ALEN);
  __be32 source = ip->saddr;
  ip->saddr = ip->daddr;
  ip->daddr = source;
  return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
