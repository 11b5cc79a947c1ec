// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The simplest counter by host: packets and bytes of each IPv4 destination in a per-CPU hash, then drop. It knows no
// networks, classes, flows or samples.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct host_count {
  __u64 packets;
  __u64 bytes;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 65536);
  __type(key, __u32);
  __type(value, struct host_count);
} bench_hosts SEC(".maps");

SEC("xdp")
int xdp_hash_count(struct xdp_md* ctx) {
  void* end = (void*)(long)ctx->data_end;
  struct ethhdr* ethernet = (void*)(long)ctx->data;
  struct iphdr* ip = (void*)(ethernet + 1);
  if ((void*)(ip + 1) > end || ethernet->h_proto != bpf_htons(ETH_P_IP)) return XDP_DROP;
  __u64 wire = ctx->data_end - ctx->data;
  __u32 host = ip->daddr;
  struct host_count* count = bpf_map_lookup_elem(&bench_hosts, &host);
  if (count) {
    count->packets++;
    count->bytes += wire;
  } else {
    struct host_count first = {.packets = 1, .bytes = wire};
    bpf_map_update_elem(&bench_hosts, &host, &first, BPF_NOEXIST);
  }
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
