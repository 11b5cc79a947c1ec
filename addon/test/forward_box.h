// The forwarding program in a network namespace of its own, with two interfaces, routes and neighbors, run over single
// frames in the kernel (BPF_PROG_TEST_RUN).
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "device/netdev_family.h"
#include "filter/forwarder.h"
#include "filter_box.h"

namespace floodwall::test {

/// Runs `work` on a thread in a new network namespace, which goes with it.
inline void inNewNamespace(const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      REQUIRE(unshare(CLONE_NEWNET) == 0);
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

/// In the namespace of the calling thread.
inline void shell(const std::string& script) {
  CAPTURE(script);
  REQUIRE(std::system(("set -e; " + script).c_str()) == 0);  // NOLINT(cert-env33-c)
}

/// What is of a CPU is then of all that follows on this thread.
inline void stayOnThisCpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
}

inline const Bytes kOurMac{2, 0, 0, 0, 0, 1}, kFromMac{2, 0, 0, 0, 0, 9};
/// Of the interface that packets leave by, and of all neighbors there.
inline const Bytes kOutMac{2, 0, 0, 0, 1, 1}, kNextMac{2, 0, 0, 0, 1, 9};
inline const Bytes kFarMac{2, 0xaa, 0, 0, 0, 1};

inline Bytes ethernetTo(const Bytes& destination, const Bytes& source, std::uint32_t type) {
  Bytes bytes = destination + source;
  put16(bytes, type);
  return bytes;
}
inline Bytes arriving(std::uint32_t type, const Bytes& packet) { return ethernetTo(kOurMac, kFromMac, type) + packet; }
inline Bytes leaving(std::uint32_t type, const Bytes& packet) { return ethernetTo(kNextMac, kOutMac, type) + packet; }

inline void set16(Bytes& bytes, std::size_t at, std::uint32_t value) {
  bytes.at(at) = static_cast<std::uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}
inline std::uint16_t at16(const Bytes& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes.at(at) << 8 | bytes.at(at + 1));
}

/// With the checksum of its IPv4 header.
inline Bytes sealed(Bytes ip) {
  set16(ip, 10, 0);
  set16(ip, 10, checksumOf(ip, 0, std::size_t{4} * (ip.at(0) & 15)));
  return ip;
}
/// One hop later.
inline Bytes oneHopOn(Bytes ip) {
  const bool isIpv4 = ip.at(0) >> 4 == 4;
  ip.at(isIpv4 ? 8 : 7)--;
  return isIpv4 ? sealed(ip) : ip;
}

inline Bytes ipv4Udp(std::size_t payload = 20, const Ipv4Fields& fields = {}) {
  return sealed(ipv4Packet(fields, udp(1234, 53, payload)));
}
inline Bytes ipv6Udp(std::size_t payload = 20) { return ipv6Packet({}, udp(1234, 53, payload)); }

/// With a valid checksum, whatever the family.
inline Bytes tcpPacket(bool isIpv4, std::uint8_t flags, const Bytes& options, bool isReturning = false) {
  Bytes segment = tcp(443, 40'000, flags);
  segment[12] = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  append(segment, options);
  const std::uint32_t length = static_cast<std::uint32_t>(segment.size());
  Bytes packet;
  if (isIpv4) {
    packet = isReturning ? ipv4Packet({.source = kProtected + 1, .destination = 0xc6336407, .protocol = 6}, segment)
                         : ipv4Packet({.protocol = 6}, segment);
  } else {
    packet = ipv6Packet({.nextHeader = 6}, segment);
  }
  const std::size_t addresses = isIpv4 ? 12 : 8, at = isIpv4 ? 20 : 40;
  const auto pseudo = static_cast<std::uint16_t>(~checksumOf(packet, addresses, at - addresses));
  set16(packet, at + 16, checksumOf(packet, at, length, pseudo + 6 + length));
  return isIpv4 ? sealed(packet) : packet;
}
/// The option that names the largest segment.
inline Bytes mss(std::uint16_t value) {
  return {2, 4, static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

struct ForwardBox {
  explicit ForwardBox(const std::vector<ForwardTunnel>& tunnels = {}, std::uint32_t answersPerSecond = 0)
      : ForwardBox(prepared(), tunnels, answersPerSecond) {}

  /// From in0 to what is behind out0.
  [[nodiscard]] static bool prepared() {
    shell(
        "for f in ipv4/conf/all/forwarding ipv6/conf/all/forwarding; do echo 1 >/proc/sys/net/$f; done;"
        "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad;"
        "ip link set lo up;"
        "ip link add in0 address 02:00:00:00:00:01 type veth peer name in1 address 02:00:00:00:00:02;"
        "ip link add out0 address 02:00:00:00:01:01 type veth peer name out1 address 02:00:00:00:01:02;"
        "ethtool -K out1 gro on;"
        "for d in in0 in1 out0 out1; do ip link set $d up; done;"
        "ip address add 192.0.2.254/24 dev in0;"
        "ip address add 10.1.255.254/16 dev out0; ip address add 2001:db8:1::fe/64 dev out0 nodad;"
        "ip route add 198.51.100.0/24 via 10.1.0.9; ip route add 2001:db8:f::/48 via 2001:db8:1::9;"
        "ip route add blackhole 10.2.0.0/16; ip route add prohibit 10.3.0.0/16; ip route add unreachable 10.4.0.0/16;"
        "for a in 10.1.0.1 10.1.0.9 2001:db8:1::1 2001:db8:1::9; do"
        "  ip neigh add $a lladdr 02:00:00:00:01:09 nud permanent dev out0; done");
    return true;
  }

  /// Through the forwarding program itself, as if it had arrived at in0.
  [[nodiscard]] Outcome run(const Bytes& frame) const { return run(frame, program.fd()); }
  [[nodiscard]] static Outcome run(const Bytes& frame, int programFd) {
    Bytes out(frame.size() + 512);
    xdp_md arrival{};
    arrival.data_end = static_cast<std::uint32_t>(frame.size());
    arrival.ingress_ifindex = if_nametoindex("in0");
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<std::uint32_t>(out.size());
    options.ctx_in = &arrival;
    options.ctx_size_in = sizeof arrival;
    options.repeat = 1;
    REQUIRE(bpf_prog_test_run_opts(programFd, &options) == 0);
    out.resize(options.data_size_out);
    return {.action = options.retval, .frame = std::move(out)};
  }
  /// What came of the last frame, with the number of frames that had this outcome so far.
  [[nodiscard]] std::uint64_t count(forward_outcome outcome) const {
    return forwarder.status().stats.outcomes[outcome].packets;
  }
  [[nodiscard]] std::uint64_t outcomes() const {
    std::uint64_t sum = 0;
    for (const filter_count& count : forwarder.status().stats.outcomes) sum += count.packets;
    return sum;
  }
  /// The one outcome of a frame; checks that it was counted once.
  forward_outcome outcomeOf(const Bytes& frame, Outcome* result = nullptr) const {
    const forward_stats before = forwarder.status().stats;
    const Outcome came = run(frame);
    if (result != nullptr) *result = came;
    const forward_stats after = forwarder.status().stats;
    int found = -1, changed = 0;
    for (int i = 0; i < FORWARD_OUTCOMES; i++) {
      const auto packets = after.outcomes[i].packets - before.outcomes[i].packets;
      if (packets != 0) found = i;
      changed += static_cast<int>(packets);
    }
    CHECK(changed == 1);
    return static_cast<forward_outcome>(found);
  }

  Forwarder forwarder;
  ForwardProgram program;

 private:
  ForwardBox(bool /*prepared*/, const std::vector<ForwardTunnel>& tunnels, std::uint32_t answersPerSecond)
      : forwarder({"in0"}, tunnels, {.refreshNs = 0}),
        program(forwarder.maps(), {.refreshNs = 0, .answersPerSecond = answersPerSecond}) {
    forwarder.follow();
    if (allXdpFeatures()) return;
    // Of a kernel that does not say which interfaces take frames none of a veth is trusted.
    const std::uint32_t out = if_nametoindex("out0");
    REQUIRE(bpf_map_update_elem(forwarder.maps().fd(ForwardMaps::egress), &out, &out, BPF_ANY) == 0);
  }
};

inline SetPrefix prefixOf(const Address& address, std::uint32_t length) {
  SetPrefix prefix;
  prefix.address = inKernel(address);
  prefix.length = length;
  return prefix;
}

struct TunnelFields {
  forward_tunnel_kind kind = FORWARD_GRE;
  bool isOuterIpv4 = true;
  std::uint32_t key = 0;
  std::uint16_t mtu = 1400;
};
inline constexpr std::uint32_t kLocal = 0x0a01fffe, kRemote = 0xc6336409;  // 10.1.255.254, 198.51.100.9
inline const Address kLocal6 = ipv6(1, 0xfe), kRemote6 = ipv6(0xf, 9);

/// For all packets to 10.1.0.0/16 and 2001:db8:1::/48.
inline ForwardTunnel tunnelOf(const TunnelFields& fields) {
  ForwardTunnel tunnel;
  forward_tunnel& form = tunnel.form;
  form.kind = static_cast<std::uint8_t>(fields.kind);
  form.local = inKernel(fields.isOuterIpv4 ? ipv4(kLocal) : kLocal6);
  form.remote = inKernel(fields.isOuterIpv4 ? ipv4(kRemote) : kRemote6);
  form.has_key = fields.key != 0 ? 1 : 0;
  form.key = __builtin_bswap32(fields.kind == FORWARD_VXLAN ? fields.key << 8 : fields.key);
  form.port = __builtin_bswap16(4789);
  form.mtu = fields.mtu;
  form.mss4 = static_cast<std::uint16_t>(fields.mtu - 40);
  form.mss6 = static_cast<std::uint16_t>(fields.mtu - 60);
  std::copy(kFarMac.begin(), kFarMac.end(), std::begin(form.destination_mac));
  tunnel.networks = {prefixOf(ipv4(kProtected), 112), prefixOf(ipv6(1, 0), 48)};
  return tunnel;
}

}  // namespace floodwall::test
