// How many nanoseconds does a packet take in our XDP programs? Test runs in the kernel, without a device: each case
// over frames with other addresses, all cases in turn, and of each the shortest of many short runs, since the machine
// has other work. Prints one line of JSON: nanoseconds by case; "bare drop" is what the measuring itself takes.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "frames_in_turn.h"
#include "frames_in_turn.skel.h"
#include "inline/inline_program.h"
#include "measured_filter.h"
#include "measured_forward.h"
#include "xdp_drop.skel.h"
#include "xdp_redirect.skel.h"

using namespace floodwall;

namespace {

/// The first of them finds the caches as another case left them.
constexpr int kRunsInTurn = 8;
Address addressOf(const ip_address& address) {
  Address made;
  std::copy(std::begin(address.bytes), std::end(address.bytes), made.bytes.begin());
  return made;
}

struct Addresses {
  std::uint32_t sources = 1, targets = 1;
  std::uint32_t firstTarget = kFirstTarget;
  std::uint32_t firstSource = kFirstSource;
  bool isIpv6 = false;
};

/// 60 bytes of UDP, as the smallest frame has them.
std::vector<std::uint8_t> frameOf(bool isIpv6) {
  std::vector<std::uint8_t> frame(isIpv6 ? 62 : 60);
  std::uint8_t* ip = &frame[14];
  if (isIpv6) {
    frame[12] = 0x86;
    frame[13] = 0xdd;
    ip[0] = 0x60;
    ip[5] = 8;
    ip[6] = kUdp;
    std::copy(kIpv6Start.begin(), kIpv6Start.end(), ip + 8);
    std::copy(kIpv6Start.begin(), kIpv6Start.end(), ip + 24);
    ip += 40;
  } else {
    frame[12] = 0x08;
    ip[0] = 0x45;
    ip[3] = 46;
    ip[9] = kUdp;
    ip += 20;
  }
  ip[0] = 0x30;
  ip[3] = 0x35;
  ip[5] = 8;
  return frame;
}

class Case {
 public:
  /// Half a millisecond or more, so that many runs are not interrupted.
  static constexpr std::uint32_t kPackets = 1 << 14;

  Case(std::string name, int program, const Addresses& addresses, std::function<std::uint64_t()> count)
      : name_(std::move(name)),
        skeleton_(frames_in_turn_bpf__open_and_load()),
        frame_(frameOf(addresses.isIpv6)),
        count_(std::move(count)) {
    if (!skeleton_) throw std::runtime_error("cannot load the program that changes the frames");
    const __u32 slot = 0;
    check(bpf_map_update_elem(bpf_map__fd(skeleton_->maps.measured), &slot, &program, BPF_ANY), "put the program");
    frames_in_turn& frames = skeleton_->bss->frames;
    frames.source_offset = addresses.isIpv6 ? 34 : 26;
    frames.target_offset = addresses.isIpv6 ? 50 : 30;
    frames.first_source = addresses.firstSource;
    frames.sources = addresses.sources;
    frames.first_target = addresses.firstTarget;
    frames.targets = addresses.targets;
  }

  /// A case of one frame, as it is each time but for its target.
  Case(std::string name, int program, const std::vector<std::uint8_t>& frame, const Addresses& addresses,
       std::function<std::uint64_t()> count)
      : Case(std::move(name), program, addresses, std::move(count)) {
    frame_ = frame;
    skeleton_->bss->frames.restores = 1;
    std::memcpy(skeleton_->bss->frames.head, frame.data(), sizeof skeleton_->bss->frames.head);
  }

  void run() {
    const std::uint64_t before = count_ ? count_() : 0;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame_.data();
    options.data_size_in = static_cast<__u32>(frame_.size());
    options.repeat = static_cast<int>(kPackets);
    const double start = now();
    check(bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.frames_in_turn), &options), "run the program");
    const double ns = (now() - start) / static_cast<double>(kPackets);
    if (count_ && count_() - before != kPackets) throw std::runtime_error(name_ + ": not all packets had the outcome");
    least_ = std::min(least_, ns);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double least() const { return least_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  struct Close {
    void operator()(frames_in_turn_bpf* skeleton) const { frames_in_turn_bpf__destroy(skeleton); }
  };

  std::string name_;
  std::unique_ptr<frames_in_turn_bpf, Close> skeleton_;
  std::vector<std::uint8_t> frame_;
  std::function<std::uint64_t()> count_;
  double least_ = std::numeric_limits<double>::max();
};

struct Inline {
  Inline() : program({.maxHosts = 1U << 20}) {
    const std::vector<PrefixValue> networks{{.address = addressOf(mapped(kFirstTarget)), .length = 112, .value = 0},
                                            {.address = addressOf(ipv6(0)), .length = 64, .value = 1}};
    program.setNetworks(networks, 2);
  }
  [[nodiscard]] std::function<std::uint64_t()> counted() const {
    return [this] { return program.stats().counted_packets; };
  }
  InlineProgram program;
};

void pinToCpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  check(sched_setaffinity(0, sizeof set, &set), "pin to a CPU");
}

/// Gives every host its row, as the reader makes room for them, and remembers this number of flows.
void settle(Inline& counter, const Addresses& addresses, std::uint32_t packets = 6 * kHosts) {
  Case first("first packets", counter.program.programFd(), addresses, {});
  for (std::uint32_t sent = 0; sent < packets; sent += Case::kPackets) {
    first.run();
    counter.program.table().makeRoom();
  }
}

void measure(int rounds) {
  xdp_drop_bpf* drop = xdp_drop_bpf__open_and_load();
  if (drop == nullptr) throw std::runtime_error("cannot load the bare drop");
  Filter none, oneRule, rules, fewPairs, pairs, inVain, pairs6;
  oneRule.putOneRule();
  rules.putRules();
  fewPairs.putPairs(1000);
  pairs.putPairs(kPairs);
  pairs6.putPairs6(kPairs);
  inVain.putPairs(kPairs);
  inVain.putRules();
  Inline few, hosts, flows, hosts6;
  const Addresses toOne{}, toHosts{.targets = kHosts}, toHosts6{.targets = kHosts, .isIpv6 = true};
  const Addresses toVictims{.targets = kRules / kRulesOfVictim, .firstTarget = kFirstRuleVictim};
  settle(hosts, toHosts);
  // Fills the flow sets.
  settle(flows, {.sources = 1000, .targets = kHosts, .firstSource = kFirstSource + 1000}, 96 * kHosts);
  settle(hosts6, toHosts6);
  std::vector<std::unique_ptr<Case>> cases;
  const auto add = [&](const char* name, int program, const Addresses& addresses,
                       std::function<std::uint64_t()> count) {
    cases.push_back(std::make_unique<Case>(name, program, addresses, std::move(count)));
  };
  const auto addFilter = [&](const char* name, const Filter& filter, const Addresses& addresses,
                             filter_verdict verdict) {
    add(name, filter.program.fd(), addresses, filter.verdict(verdict));
  };
  const auto addInline = [&](const char* name, const Inline& counter, const Addresses& addresses) {
    add(name, counter.program.programFd(), addresses, counter.counted());
  };
  add("bare drop", bpf_program__fd(drop->progs.xdp_drop), toHosts, {});
  addFilter("filter, nothing to match", none, toHosts, FILTER_PASS_DEFAULT);
  addFilter("filter, one rule", oneRule, toOne, FILTER_DROP_RULE);
  addFilter("filter, last of 8 rules of 512 victims", rules, toVictims, FILTER_DROP_RULE);
  addFilter("filter, 1,000 pairs", fewPairs, {.sources = 1000}, FILTER_DROP_SOURCE);
  addFilter("filter, 100,000 pairs", pairs, {.sources = kPairs}, FILTER_DROP_SOURCE);
  addFilter("filter, last of 8 rules and 100,000 pairs in vain", inVain, toVictims, FILTER_DROP_RULE);
  addFilter("filter, passed by 100,000 pairs and 4,096 rules", inVain, {.targets = kHosts, .firstTarget = 0x0b000000},
            FILTER_PASS_DEFAULT);
  addFilter("filter, 100,000 IPv6 pairs", pairs6, {.sources = kPairs, .isIpv6 = true}, FILTER_DROP_SOURCE);
  addInline("inline, 16 hosts", few, {.targets = 16});
  addInline("inline, 65,536 hosts", hosts, toHosts);
  addInline("inline, 65,536 hosts, new flows", flows, {.sources = 1000, .targets = kHosts});
  addInline("inline, 65,536 IPv6 hosts", hosts6, toHosts6);
  enterNamespace();
  constexpr std::uint64_t kKeepNs = ForwardProgramOptions{}.keepNs;
  Forward clean(kKeepNs), validated(kKeepNs), lookedUp(0);
  validated.validate();
  constexpr std::uint8_t kAck = 16;
  xdp_redirect_bpf* redirect = xdp_redirect_bpf__open_and_load();
  if (redirect == nullptr) throw std::runtime_error("cannot load the bare redirect");
  Addresses sentTo;
  const auto addSegment = [&](const char* name, int program, std::function<std::uint64_t()> count) {
    cases.push_back(std::make_unique<Case>(name, program, segmentOf(kAck), sentTo, std::move(count)));
  };
  const int bare = bpf_program__fd(redirect->progs.xdp_redirect);
  addSegment("bare redirect that rewrites MAC addresses", bare, {});
  addSegment("forward, a clean packet by 100,000 pairs and 4,096 rules", clean.program->fd(), clean.redirected());
  addSegment("forward, a clean packet, each looked up", lookedUp.program->fd(), lookedUp.redirected());
  addSegment("forward, a packet of a validated source", validated.program->fd(), validated.redirected());
  sentTo = {.targets = kForwardHosts, .firstTarget = kFirstForwardHost};
  addSegment("bare redirect, 1,000 destinations", bare, {});
  addSegment("forward, clean packets to 1,000 destinations", clean.program->fd(), clean.redirected());
  for (int round = 0; round < rounds; round++) {
    for (const auto& each : cases) {
      for (int run = 0; run < kRunsInTurn; run++) each->run();
    }
  }
  std::printf("{");
  for (std::size_t i = 0; i < cases.size(); i++) {
    std::printf("%s\"%s\": %.1f", i == 0 ? "" : ", ", cases[i]->name().c_str(), cases[i]->least());
  }
  std::printf("}\n");
  xdp_drop_bpf__destroy(drop);
  xdp_redirect_bpf__destroy(redirect);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    pinToCpu(argc > 2 ? std::atoi(argv[2]) : 1);
    measure(argc > 1 ? std::atoi(argv[1]) : 20);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "packet_times: %s\n", error.what());
    return 1;
  }
}
