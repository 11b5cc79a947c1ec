// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Run over live frames, fills in each frame and redirects it into the device. It keeps the pace itself, by dropping the
// frames that are not due yet: a test run costs about 20 ms to set up, so it is set up once and not once for a burst.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "live_state.h"
#include "traffic_plan.h"

// Globals and not constants: the compiler may lay separate constants out in an order of its own, and folds them.
struct traffic_plan plan;
struct live_state state;
struct traffic_cursor cursor;

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} device SEC(".maps");

static __always_inline int put16(struct xdp_md* ctx, __u8 offset, __u16 value) {
  __u8* field = (__u8*)(long)ctx->data + offset;
  if (field + 2 > (__u8*)(long)ctx->data_end) return -1;
  *(__be16*)field = bpf_htons(value);
  return 0;
}

static __always_inline int put32(struct xdp_md* ctx, __u8 offset, __u32 value) {
  __u8* field = (__u8*)(long)ctx->data + offset;
  if (field + 4 > (__u8*)(long)ctx->data_end) return -1;
  *(__be32*)field = bpf_htonl(value);
  return 0;
}

// Frames come back from the pool as the receiver left them, so the whole header is written each time.
static __always_inline int write_header(struct xdp_md* ctx, const struct traffic_template* from) {
  // 56 bytes hold every IPv4 header that the profiles know, so the smallest frame needs no cut; IPv6 frames have 80.
  __u64* to = (__u64*)(long)ctx->data;
  const __u64* words = (const __u64*)from->header;
  if ((void*)(to + 7) > (void*)(long)ctx->data_end) return -1;
#pragma unroll
  for (int i = 0; i < 7; i++) to[i] = words[i];
  if ((void*)(to + 10) > (void*)(long)ctx->data_end) return 0;
#pragma unroll
  for (int i = 7; i < 10; i++) to[i] = words[i];
  return 0;
}

static __always_inline int write_frame(struct xdp_md* ctx) {
  __u32 index = cursor.template_index;
  if (index >= TRAFFIC_TEMPLATES_MAX) return -1;
  const struct traffic_template* from = &plan.templates[index];
  __u32 source = plan.source_base + cursor.source;
  __u32 destination = plan.destination_base + cursor.destination;
  __u32 port = from->port_offset ? plan.port_base + cursor.port : 0;

  if (write_header(ctx, from)) return -1;
  if (put32(ctx, from->source_offset, source) || put32(ctx, from->destination_offset, destination)) return -1;
  if (from->port_offset && put16(ctx, from->port_offset, (__u16)port)) return -1;
  if (from->ip_check_offset &&
      put16(ctx, from->ip_check_offset, traffic_check_sum(from->ip_sum, source, destination, 0)))
    return -1;
  if (from->l4_check_offset &&
      put16(ctx, from->l4_check_offset, traffic_check_sum(from->l4_sum, source, destination, port)))
    return -1;

  int surplus = (int)plan.frame_bytes - from->length;
  if (surplus != 0 && bpf_xdp_adjust_tail(ctx, -surplus)) return -1;
  state.bytes += from->length;
  return 0;
}

// Whether the next frame may go. Reads the clock only when the time read last does not answer it.
static __always_inline int is_due(void) {
  if (state.first_packet_ns == 0) state.first_packet_ns = bpf_ktime_get_ns();
  if (state.interval == 0) {
    if ((state.packets & 63) == 0) state.elapsed_ns = bpf_ktime_get_ns() - state.first_packet_ns;
    return 1;
  }
  if (state.next_due > state.elapsed_ns << LIVE_TIME_SHIFT) {
    state.elapsed_ns = bpf_ktime_get_ns() - state.first_packet_ns;
    if (state.next_due > state.elapsed_ns << LIVE_TIME_SHIFT) return 0;
  }
  if (state.elapsed_ns > LIVE_BACKLOG_MAX_NS) {
    __u64 oldest = (state.elapsed_ns - LIVE_BACKLOG_MAX_NS) << LIVE_TIME_SHIFT;
    if (state.next_due < oldest) state.next_due = oldest;
  }
  return 1;
}

static __always_inline void note_lateness(void) {
  if (state.marked_packet != 0 && state.packets >= state.marked_packet) return;
  __u64 due_ns = state.next_due >> LIVE_TIME_SHIFT;
  if (state.interval != 0 && state.elapsed_ns > due_ns + state.late_ns) state.late_ns = state.elapsed_ns - due_ns;
}

SEC("xdp")
int traffic_source(struct xdp_md* ctx) {
  if (state.is_done) return XDP_DROP;
  int due = is_due();
  if (state.packets >= state.packets_wanted || state.elapsed_ns >= state.duration_ns) {
    state.is_done = 1;
    return XDP_DROP;
  }
  if (!due || write_frame(ctx)) return XDP_DROP;
  traffic_advance(&cursor, &plan);
  note_lateness();
  state.next_due += state.interval;
  state.packets++;
  state.last_packet_ns = state.elapsed_ns;
  // The time read last may be that of a packet before it.
  if (state.packets == state.marked_packet) state.marked_packet_ns = bpf_ktime_get_ns() - state.first_packet_ns;
  return bpf_redirect_map(&device, 0, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
