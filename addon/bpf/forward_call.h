/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the filter's programs hand over what they pass. The one slot has the forwarding program (xdp_forward.bpf.c), or
 * nothing: then the kernel forwards.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} forward_call SEC(".maps");

/* To be called by the program itself and not by a function of it: the stack of callers would limit the one called. */
static __always_inline int pass_on(struct xdp_md* ctx, int action, __u32 forwards) {
  if (forwards && action == XDP_PASS) bpf_tail_call(ctx, &forward_call, 0);
  return action;
}
