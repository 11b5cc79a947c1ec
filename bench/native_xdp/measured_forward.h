// Forwarding behind the filter, in a network namespace with one way out.
#pragma once

#include <sched.h>

#include <cstdlib>
#include <memory>

#include "filter/forwarder.h"
#include "measured_filter.h"

namespace floodwall {

/// A TCP segment to a neighbor of this machine's, with a header that routers take.
inline std::vector<std::uint8_t> segmentOf(std::uint8_t flags, std::uint32_t sequence = 0) {
  std::vector<std::uint8_t> frame(60);
  frame[12] = 0x08;
  std::uint8_t* ip = &frame[14];
  ip[0] = 0x45;
  ip[3] = 40;
  ip[8] = 64;
  ip[9] = 6;
  const std::array<std::uint32_t, 2> addresses = {htobe32(kFirstSource), htobe32(kForwardTarget)};
  std::memcpy(ip + 12, addresses.data(), sizeof addresses);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(ip[i] << 8 | ip[i + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = ~((sum & 0xffff) + (sum >> 16));
  ip[10] = static_cast<std::uint8_t>(sum >> 8);
  ip[11] = static_cast<std::uint8_t>(sum);
  ip[20] = 0x30;
  ip[23] = 80;
  const std::uint32_t number = htobe32(sequence);
  std::memcpy(ip + 24, &number, sizeof number);
  ip[32] = 0x50;
  ip[33] = flags;
  return frame;
}

/// The frame with which a program answers another one, sequence number and all.
inline std::vector<std::uint8_t> answerOf(int program, std::vector<std::uint8_t> frame) {
  std::vector<std::uint8_t> out(256);
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<__u32>(frame.size());
  options.data_out = out.data();
  options.data_size_out = static_cast<__u32>(out.size());
  check(bpf_prog_test_run_opts(program, &options), "run the program");
  return out;
}

/// A network namespace with one way out, for all that follows.
inline void enterNamespace() {
  check(unshare(CLONE_NEWNET), "make a network namespace");
  const char* const script =
      "set -e; ip link set lo up; echo 1 >/proc/sys/net/ipv4/conf/all/forwarding;"
      "ip link add out0 index 77 address 02:00:00:00:99:02 type veth peer name out1; ethtool -K out1 gro on "
      ">/dev/null;"
      "ip link set out0 up; ip link set out1 up; ip address add 10.11.255.254/16 dev out0;"
      "ip neigh add 10.11.0.1 lladdr 02:00:00:00:99:01 nud permanent dev out0;"
      "ip route add 10.11.128.0/17 via 10.11.0.1";
  if (std::system(script) != 0) throw std::runtime_error("cannot set up the network namespace");
}

/// A filter in front of the forwarding program.
struct Forward {
  /// `keepNs`: see forward_settings.
  explicit Forward(std::uint64_t keepNs) : forwarder({}, {}, {.refreshNs = 0, .keepNs = keepNs}) {
    forwarder.follow();
    // As if it came by once a second.
    if (!forwarder.status().keepsRoutes) throw std::runtime_error("the kernel's routes are not by destination");
    forwarder.maps().headRow().keeping_until_ns += kHourNs;
    // Test runs arrive at the loopback, whose MAC address is all zeros.
    const __u32 loopback = 1;
    const forward_port port{};
    check(bpf_map_update_elem(forwarder.maps().fd(ForwardMaps::ports), &loopback, &port, BPF_ANY), "put a port");
    SetPrefix network;
    network.address = mapped(kForwardTarget & 0xffff0000);
    network.length = 112;
    forwarder.setNetworks(std::vector{network});
    filter.putPairs(kPairs);
    filter.putRules();
    program = std::make_unique<FilterProgram>(filter.maps, false, forwarder.callFd(false));
  }
  /// Has the source of segmentOf() prove its address, as the victim is validated from now on.
  void validate() {
    WantedRule rule = Filter::ruleTo(kForwardTarget, "validate");
    rule.rule.asks |= FILTER_ASKS_PROTOCOL;
    rule.rule.protocol = 6;
    rule.rule.action = FILTER_VALIDATE_TRANSPARENT;
    filter.rules.set(std::vector{rule});
    constexpr std::uint8_t kSyn = 2, kRst = 4;
    const auto answer = answerOf(program->fd(), segmentOf(kSyn));
    std::uint32_t cookie = 0;
    std::memcpy(&cookie, &answer[14 + 20 + 8], sizeof cookie);
    answerOf(program->fd(), segmentOf(kRst, be32toh(cookie)));
  }
  [[nodiscard]] std::function<std::uint64_t()> redirected() const {
    return [this] { return forwarder.status().stats.outcomes[FORWARD_REDIRECTED].packets; };
  }

  Forwarder forwarder;
  Filter filter;
  std::unique_ptr<FilterProgram> program;
};

}  // namespace floodwall
