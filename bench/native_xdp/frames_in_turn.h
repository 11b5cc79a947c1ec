/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which frames a test run goes through: all targets for one source, then for the next one. */
#pragma once

#include <linux/types.h>

struct frames_in_turn {
  /* Where the last words of the addresses are in the frame. */
  __u32 source_offset, target_offset;
  __u32 first_source, sources;
  __u32 first_target, targets;
  /* The next frame. */
  __u32 source, target;
  /* The begin of the frame, put back each time: a program may have changed it. With several targets each gets a whole
   * IPv4 header, and the source stays. */
  __u32 restores;
  __u64 head[5];
};
