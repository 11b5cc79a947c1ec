// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Redirects every frame of the first queue into one AF_XDP socket.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} socket SEC(".maps");

SEC("xdp")
int xdp_to_socket(struct xdp_md* ctx) { return bpf_redirect_map(&socket, ctx->rx_queue_index, XDP_PASS); }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
