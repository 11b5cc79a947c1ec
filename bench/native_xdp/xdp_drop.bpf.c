// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Drops every frame without reading it: the fastest possible XDP program.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_drop(struct xdp_md* ctx) { return XDP_DROP; }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
