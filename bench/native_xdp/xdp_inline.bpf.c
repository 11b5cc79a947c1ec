// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The released inline counter, except that it drops what it has counted. What the network stack does with a frame
// that is passed on costs several times the count, and would be measured instead of it.
#include <linux/bpf.h>
#define XDP_PASS XDP_DROP
#include "../../addon/bpf/xdp_inline.bpf.c"
