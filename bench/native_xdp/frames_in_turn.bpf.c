// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Gives the frame of a test run other addresses each time, and goes on to the measured program: a test run repeats one
// frame, and tables cost what fetching their cache lines costs.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "checksum.h"
#include "frames_in_turn.h"

struct frames_in_turn frames;

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} measured SEC(".maps");

static __always_inline void put32(struct xdp_md* ctx, __u32 offset, __u32 value) {
  __u8* at = (__u8*)(long)ctx->data + (offset & 0xff);
  if (at + sizeof(__be32) <= (__u8*)(long)ctx->data_end) *(__be32*)at = bpf_htonl(value);
}

static __always_inline void restore(struct xdp_md* ctx) {
  __u64* at = (__u64*)(long)ctx->data;
  if ((void*)(at + 5) > (void*)(long)ctx->data_end) return;
  for (int i = 0; i < 5; i++) at[i] = frames.head[i];
}

/* A router looks at the checksum of the IPv4 header. */
static __always_inline void aim(struct xdp_md* ctx) {
  put32(ctx, frames.target_offset, frames.first_target + frames.target);
  if (++frames.target >= frames.targets) frames.target = 0;
  __u8* data = (__u8*)(long)ctx->data;
  if (data + 34 > (__u8*)(long)ctx->data_end) return;
  __u32* words = (__u32*)(data + 14);
  __u16* sum = (__u16*)(data + 24);
  *sum = 0;
  *sum = folded((__u64)words[0] + words[1] + words[2] + words[3] + words[4]);
}

SEC("xdp")
int frames_in_turn(struct xdp_md* ctx) {
  if (frames.restores) {
    restore(ctx);
    if (frames.targets > 1) aim(ctx);
    bpf_tail_call(ctx, &measured, 0);
    return XDP_ABORTED;
  }
  put32(ctx, frames.source_offset, frames.first_source + frames.source);
  put32(ctx, frames.target_offset, frames.first_target + frames.target);
  if (++frames.target >= frames.targets) {
    frames.target = 0;
    if (++frames.source >= frames.sources) frames.source = 0;
  }
  bpf_tail_call(ctx, &measured, 0);
  return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
