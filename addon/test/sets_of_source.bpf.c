// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Looks up the named sets of a packet's source, as the filter does, and hands the bitmap out.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "source_sets.h"

__u64 found_sets;

SEC("xdp")
int sets_of_frame(struct xdp_md* ctx) {
  struct packet packet = {};
  if (parse_packet(ctx, &packet) != INLINE_NO_ERROR) return XDP_ABORTED;
  found_sets = sets_of_source(&packet);
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
