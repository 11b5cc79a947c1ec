// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The filter alone, for an interface that nothing is counted on: drops or answers what packet_filter.h says, and
// passes the rest on: to the forwarding program if there is one, else unchanged to the kernel.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "forward_call.h"
#include "packet_filter.h"

const volatile struct filter_settings settings;

SEC("xdp")
int xdp_filter(struct xdp_md* ctx) {
  __u32 wire = settings.has_fragments ? bpf_xdp_get_buff_len(ctx) : ctx->data_end - ctx->data;
  struct packet packet = {};
  __u32 error = parse_packet(ctx, &packet);
  const __u32 verdict = judge_and_count(ctx, &packet, error, wire, 0);
  return pass_on(ctx, carry_out(ctx, &packet, verdict), settings.forwards);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
