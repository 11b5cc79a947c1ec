/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes everything on. The far end of a veth must have some XDP program, or live frames that come in are lost. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_pass(struct xdp_md* ctx) { return XDP_PASS; }

char LICENSE[] SEC("license") = "Dual BSD/GPL";
