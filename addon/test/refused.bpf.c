// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A program that no verifier takes: it reads a map's value at an index that it never compared with the size.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u8[64]);
} values SEC(".maps");

SEC("xdp")
int refused(struct xdp_md* ctx) {
  __u32 slot = 0;
  __u8* value = bpf_map_lookup_elem(&values, &slot);
  if (!value) return XDP_PASS;
  return value[ctx->rx_queue_index] ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
