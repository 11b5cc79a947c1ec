// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Steers every frame of a mirror port into the AF_XDP socket of its RX queue. It reads no header: frames are counted in
// user space. The port carries copies, so that the network stack needs none of them.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

// Sized by the loader to the queues of the interface.
struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

// Frames by queue that went on to the network stack because no socket takes them.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} passed SEC(".maps");

// Frames may span several buffers (jumbo frames, merged segments): if the loader sets it, the socket gets each buffer
// as a descriptor of its own.
SEC("xdp")
int xdp_mirror(struct xdp_md* ctx) {
  __u32 queue = ctx->rx_queue_index;
  int verdict = bpf_redirect_map(&sockets, queue, XDP_PASS);
  if (verdict != XDP_REDIRECT) {
    __u64* count = bpf_map_lookup_elem(&passed, &queue);
    if (count) (*count)++;
  }
  return verdict;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
