/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pace and the progress of the in-kernel path, written by the program while it sends and read from outside. */
#pragma once

#include <linux/types.h>

/* The schedule counts time in 1/1024 ns: at several Mpps a whole nanosecond is too coarse a step. */
#define LIVE_TIME_SHIFT 10
/* A sender that was held up catches up on no more than this; the rest is not sent. */
#define LIVE_BACKLOG_MAX_NS 100000000ull

struct live_state {
  /* Set before the start. Interval 0: as fast as it goes. */
  __u64 interval;
  __u64 packets_wanted;
  __u64 duration_ns;
  /* Counted from 1; 0: none. */
  __u64 marked_packet;
  /* Set by the program. The first packet's time is CLOCK_MONOTONIC, all others count from it. */
  __u64 first_packet_ns;
  __u64 last_packet_ns;
  __u64 marked_packet_ns;
  /* By how much the latest packet up to the marked one was late. */
  __u64 late_ns;
  __u64 elapsed_ns;
  __u64 next_due;
  __u64 packets;
  __u64 bytes;
  __u32 is_done;
  __u32 reserved;
};
