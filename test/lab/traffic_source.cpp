// The traffic source of the lab: floods or sends background traffic through a veth and says exactly what it sent.
#include <pthread.h>
#include <sched.h>

#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>

#include "device.h"
#include "traffic_options.h"
#include "traffic_profile.h"
#include "traffic_sender.h"

namespace floodwall::lab {

std::atomic<bool> isInterrupted{false};

namespace {

std::uint64_t clockNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void stopOnSignals() {
  struct sigaction stop {};
  stop.sa_handler = [](int) { isInterrupted = true; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
}

void pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::runtime_error("--cpu " + std::to_string(cpu) + ": " + std::strerror(errno));
  }
}

SendOrder makeOrder(const TrafficOptions& options) {
  SendOrder order;
  order.device = options.device;
  order.deviceIndex = requireVeth(options.device);
  order.packetsPerSecond = options.packetsPerSecond;
  order.durationNs = static_cast<std::uint64_t>(options.seconds * 1e9);
  order.markedPacket = options.markedPacket;
  order.packets = options.packets > 0 ? options.packets : std::numeric_limits<std::uint64_t>::max();
  if (options.packetsPerSecond > 0) {
    auto inTime = static_cast<std::uint64_t>(std::ceil(options.packetsPerSecond * options.seconds));
    order.packets = std::min(order.packets, inTime);
    // The last packet is due before the time is over; a little grace keeps a late wake-up from losing it.
    order.durationNs += 20'000'000;
  }
  return order;
}

void print(const TrafficOptions& options, const Sent& sent) {
  std::uint64_t wallOffset = clockNs(CLOCK_REALTIME) - monotonicNs();
  std::printf(
      "{\"profile\":\"%s\",\"path\":\"%s\",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"device_drops\":%" PRIu64
      ",\"first_packet_monotonic_ns\":%" PRIu64 ",\"first_packet_wall_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64
      ",\"marked_packet_ns\":%" PRIu64 ",\"late_ns\":%" PRIu64 "}\n",
      options.profile.c_str(), options.path.c_str(), sent.packets, sent.bytes, sent.deviceDrops, sent.firstPacketNs,
      sent.firstPacketNs == 0 ? 0 : sent.firstPacketNs + wallOffset, sent.durationNs, sent.markedPacketNs, sent.lateNs);
}

int run(std::span<char* const> arguments) {
  TrafficOptions options = parseOptions(arguments);
  traffic_plan plan = makePlan(options);
  requireOwnNamespace();
  SendOrder order = makeOrder(options);
  if (options.cpu >= 0) pinTo(options.cpu);
  stopOnSignals();
  Sent sent = options.path == "live" ? sendLive(plan, order) : sendThroughSocket(plan, order);
  print(options, sent);
  if (sent.packets > 0 && sent.deviceDrops == sent.packets) {
    std::fprintf(stderr, "traffic_source: %s: no frame arrived; attach an XDP program to the far end of the veth\n",
                 options.device.c_str());
    return 1;
  }
  return 0;
}

}  // namespace

std::uint64_t monotonicNs() { return clockNs(CLOCK_MONOTONIC); }

}  // namespace floodwall::lab

int main(int argc, char** argv) {
  std::span<char* const> arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  if (arguments.size() == 1 && std::strcmp(arguments[0], "--help") == 0) {
    std::fputs(floodwall::lab::kUsage, stdout);
    return 0;
  }
  try {
    return floodwall::lab::run(arguments);
  } catch (const floodwall::lab::UsageError& error) {
    std::fprintf(stderr, "traffic_source: %s\nTry --help.\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "traffic_source: %s\n", error.what());
    return 1;
  }
}
