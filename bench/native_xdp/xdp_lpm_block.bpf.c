// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A block list of prefixes: IPv4 sources in a longest-prefix trie, dropped for every
// destination. Missing entries are added: the bench fills it with a first flood.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct bench_prefix {
  __u32 length;
  __u32 source;
};

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 131072);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct bench_prefix);
  __type(value, __u64);
} bench_sources SEC(".maps");

/* Number of added entries. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} bench_filled SEC(".maps");

SEC("xdp")
int xdp_lpm_block(struct xdp_md* ctx) {
  void* end = (void*)(long)ctx->data_end;
  struct ethhdr* ethernet = (void*)(long)ctx->data;
  struct iphdr* ip = (void*)(ethernet + 1);
  if ((void*)(ip + 1) > end || ethernet->h_proto != bpf_htons(ETH_P_IP)) return XDP_DROP;
  struct bench_prefix source = {.length = 32, .source = ip->saddr};
  __u64* packets = bpf_map_lookup_elem(&bench_sources, &source);
  if (packets) {
    ++*packets;
    return XDP_DROP;
  }
  __u64 first = 1;
  __u32 slot = 0;
  __u64* filled = bpf_map_lookup_elem(&bench_filled, &slot);
  if (filled && bpf_map_update_elem(&bench_sources, &source, &first, BPF_NOEXIST) == 0) ++*filled;
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
