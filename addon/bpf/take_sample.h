/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which packets of the inline program are sampled, and how much of each. Knows nothing of networks and rules. Included
 * where `settings` are. */
#pragma once

#include "filter_verdicts.h"
#include "inline_abi.h"
#include "parse_packet.h"

/* Sampled headers. One buffer for all CPUs: samples are rare, and the reader takes them in one go. */
#define SAMPLES_BYTES (256 * 1024)
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, SAMPLES_BYTES);
} samples SEC(".maps");

/* Buffer of a long sample: too large for the stack. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct inline_long_sample);
} long_sample SEC(".maps");

/* From the IP header to the end of what a TCP header without options has; where extension headers go on for too long to
 * say, all that a long sample holds. */
static __always_inline __u32 header_bytes(const struct packet* packet) {
  return packet->transport_words ? packet->transport_words * 4 + sizeof(struct tcphdr) : INLINE_LONG_SAMPLE_BYTES;
}

/* Whether there was room. `of`: the verdict, and in the next bit whether an IP header is at `at`. Not static for the
 * reason of parse_packet. */
__noinline int sample_long(struct xdp_md* ctx, __u32 at, __u32 captured, __u32 wire, __u32 of) {
  __u32 slot = 0;
  struct inline_long_sample* taken = bpf_map_lookup_elem(&long_sample, &slot);
  if (!taken) return 0;
  captured = bounded(captured - 1, INLINE_LONG_SAMPLE_BYTES - 1) + 1;
  if (bpf_xdp_load_bytes(ctx, at, taken->data, captured) != 0) return 0;
  taken->wire = wire;
  taken->captured = captured;
  taken->verdict = of & 0xff;
  taken->is_raw_ip = of >> 8;
  const __u32 bytes = offsetof(struct inline_long_sample, data) + captured;
  return bpf_ringbuf_output(&samples, taken, bytes, BPF_RB_NO_WAKEUP) == 0;
}

/* If a packet was taken out of an encapsulation, samples that packet alone, so that a reader sees what was counted.
 * Returns 0 if there was no room. A function of its own for the stack of the program, and not static for the reason of
 * parse_packet. */
__noinline int take_sample(struct xdp_md* ctx, struct packet* packet, __u32 wire, __u32 outside, __u32 verdict) {
  if (!packet) return 0;
  const int is_inner = settings.decapsulated && packet->traits.shows & FILTER_SHOWS_INNER;
  const __u32 at = is_inner ? packet->network_at : 0, left = wire > at ? wire - at : 1;
  /* Samples of packets that do not pass leave half of the room to those that pass. */
  if (filter_outcome_of(verdict) != FILTER_PASSED &&
      bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > SAMPLES_BYTES / 2) {
    return 0;
  }
  const __u32 headers = packet->network_at - at + header_bytes(packet);
  if (headers > INLINE_SAMPLE_BYTES && left > INLINE_SAMPLE_BYTES) {
    return sample_long(ctx, at, headers < left ? headers : left, wire - outside, verdict | is_inner << 8);
  }
  struct inline_sample* taken = bpf_ringbuf_reserve(&samples, sizeof(*taken), 0);
  if (!taken) return 0;
  __u32 captured = left < INLINE_SAMPLE_BYTES ? left : INLINE_SAMPLE_BYTES;
  /* No packet is empty. One less is masked, and then one added, so that the verifier also knows that it is at least 1.
   */
  captured = bounded(captured - 1, INLINE_SAMPLE_BYTES - 1) + 1;
  taken->wire = wire - outside;
  taken->captured = bpf_xdp_load_bytes(ctx, at, taken->data, captured) == 0 ? captured : 0;
  taken->is_raw_ip = is_inner;
  taken->verdict = verdict;
  /* The reader polls, and needs no wake-up. */
  bpf_ringbuf_submit(taken, BPF_RB_NO_WAKEUP);
  return 1;
}

/* One packet in settings.sample_every on average, of those that pass, are dropped and are answered each, so that a
 * flood of which few pass is not all that is seen. The gaps are random, so that no regular traffic hides between them.
 * `outside`: bytes around what was taken out of something. */
static __always_inline void sample(struct xdp_md* ctx, struct inline_stats* own, struct packet* packet, __u32 wire,
                                   __u32 outside, __u32 verdict) {
  if (settings.sample_every == 0) return;
  const __u64 outcome = bounded(filter_outcome_of(verdict), INLINE_SAMPLED_OUTCOMES - 1);
  if (own->sample_in[outcome] > 1) {
    own->sample_in[outcome]--;
    return;
  }
  own->sample_in[outcome] = 1 + bpf_get_prandom_u32() % (2 * settings.sample_every - 1);
  if (!take_sample(ctx, packet, wire, outside, verdict)) own->lost_samples++;
}
