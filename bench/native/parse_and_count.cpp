// What does one packet cost, what does one host cost, and what does one fold cost, with a million hosts?
//
// Frames come from memory, so that no driver is in the figures. The rival is what one would write first: a map of
// structs under one mutex, in the same run on the same data, in turn. Prints one JSON line a question: the figures of
// all runs, and what the design allows.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <random>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "count/address_hash.h"
#include "count/engine.h"
#include "count/host_index.h"
#include "count/host_rows.h"

namespace {

using namespace floodwall;

constexpr std::uint32_t kHosts = 1'000'000;
constexpr std::size_t kFrames = 4'000'000, kFrameBytes = 64;
constexpr std::size_t kPacketsPerTick = 1'000'000;
constexpr int kRuns = 7;
constexpr std::uint64_t kTickNs = 100'000'000;

struct Question {
  const char* text;
  const char* unit;
  /// At most so much, by the design; 0: it sets none.
  double target;
};
void printValues(const char* name, const std::vector<double>& values) {
  std::printf("\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); i++) std::printf("%s%.2f", i == 0 ? "" : ",", values[i]);
  std::printf("],");
}
void print(const Question& question, const std::vector<double>& ours, const std::vector<double>& rival) {
  std::printf("{\"question\":\"%s\",\"unit\":\"%s\",", question.text, question.unit);
  printValues("ours", ours);
  printValues("rival", rival);
  std::printf("\"target\":%.0f}\n", question.target);
  std::fflush(stdout);
}

/// CPU time of this thread, so that neighbours who take the CPU are not in the figure (those who take the cache are).
double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double secondsOf(const std::function<void()>& work) {
  const double began = cpuSeconds();
  work();
  return cpuSeconds() - began;
}

/// UDP frames of 64 bytes to hosts of 10.0.0.0/8 in random order. A host has one flow, or every packet is a new one.
class Traffic {
 public:
  explicit Traffic(bool isAllNew) : bytes_(kFrames * kFrameBytes), frames_(kFrames) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < kFrames; i++) {
      const auto host = static_cast<std::uint32_t>(i < kHosts ? i : random() % kHosts);
      write(&bytes_[i * kFrameBytes], 0x0a000000 + host, isAllNew ? static_cast<std::uint32_t>(random()) : host * 7);
      frames_[i] = {&bytes_[i * kFrameBytes], kFrameBytes, kFrameBytes};
    }
    std::shuffle(frames_.begin(), frames_.end(), random);
    // In memory in the order in which they come, as in a ring.
    std::vector<std::uint8_t> inOrder(bytes_.size());
    for (std::size_t i = 0; i < kFrames; i++) {
      std::copy_n(frames_[i].data, kFrameBytes, &inOrder[i * kFrameBytes]);
      frames_[i].data = &inOrder[i * kFrameBytes];
    }
    bytes_.swap(inOrder);
  }
  [[nodiscard]] std::span<const Frame> frames() const { return frames_; }
  [[nodiscard]] std::span<const Frame> tick(std::size_t number) const {
    return frames().subspan(number * kPacketsPerTick % kFrames, kPacketsPerTick);
  }

 private:
  static void put32(std::uint8_t* at, std::uint32_t value) {
    for (int i = 3; i >= 0; i--, value >>= 8) at[i] = static_cast<std::uint8_t>(value);
  }
  static void write(std::uint8_t* at, std::uint32_t destination, std::uint32_t source) {
    at[12] = 0x08;
    at[14] = 0x45;
    at[17] = 50;
    at[22] = 64;
    at[23] = 17;
    put32(at + 26, source);
    put32(at + 30, destination);
    at[37] = 53;
  }

  std::vector<std::uint8_t> bytes_;
  std::vector<Frame> frames_;
};

struct Ours {
  Ours() : engine({.maxHosts = 2 * kHosts}) {
    const Address ten{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10}};
    const std::uint8_t length = 104;
    const std::uint32_t zero = 0;
    engine.setNetworks({ten.bytes, std::span(&length, 1), std::span(&zero, 1), std::span(&zero, 1), 1, 1});
    shard = engine.addShard();
    engine.fold(nowNs += kTickNs);
  }
  void count(std::span<const Frame> frames) {
    shard->leaveIdle();
    for (std::size_t i = 0; i < frames.size(); i += kBatch) {
      shard->countFrames(frames.subspan(i, std::min<std::size_t>(kBatch, frames.size() - i)), Link::ethernet);
    }
    shard->enterIdle();
  }
  double foldSeconds() {
    return secondsOf([&] { engine.fold(nowNs += kTickNs); });
  }

  Engine engine;
  std::shared_ptr<Shard> shard;
  std::uint64_t nowNs = 1'000'000'000;
};

/// A map of structs under one mutex.
struct Rival {
  struct Host {
    std::uint64_t packets[kClasses] = {};
    std::uint64_t bytes[kClasses] = {};
    std::uint64_t lastPackets[kClasses] = {};
    std::uint64_t lastBytes[kClasses] = {};
    double pps = 0, mbps = 0;
  };
  struct Hash {
    std::size_t operator()(const Address& address) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(address.bytes.data()), 16});
    }
  };

  void add(const Address& address, Class transport, std::uint32_t wire) {
    const std::scoped_lock held(lock);
    Host& host = hosts[address];
    host.packets[static_cast<std::size_t>(transport)]++;
    host.bytes[static_cast<std::size_t>(transport)] += wire;
  }
  void count(std::span<const Frame> frames) {
    Packet packet;
    for (const Frame& frame : frames) {
      if (parsePacket(frame, Link::ethernet, packet) != ParseError::none) continue;
      add(packet.destination, packet.transport, packet.wire);
    }
  }
  void tick() {
    const std::scoped_lock held(lock);
    for (auto& [address, host] : hosts) {
      std::uint64_t packets = 0, bytes = 0;
      for (std::size_t i = 0; i < kClasses; i++) {
        packets += host.packets[i] - host.lastPackets[i];
        bytes += host.bytes[i] - host.lastBytes[i];
        host.lastPackets[i] = host.packets[i];
        host.lastBytes[i] = host.bytes[i];
      }
      host.pps = static_cast<double>(packets) * 10;
      host.mbps = static_cast<double>(bytes) * 80e-6;
    }
  }

  std::mutex lock;
  std::unordered_map<Address, Host, Hash> hosts;
};

void benchPackets(const Question& question, Ours& ours, Rival& rival, const Traffic& traffic) {
  std::vector<double> oursNs, rivalNs;
  for (std::size_t run = 0; run < kRuns; run++) {
    double seconds = 0;
    for (std::size_t tick = 0; tick < kFrames / kPacketsPerTick; tick++) {
      seconds += secondsOf([&] { ours.count(traffic.tick(tick)); });
      ours.engine.fold(ours.nowNs += kTickNs);
    }
    oursNs.push_back(seconds * 1e9 / kFrames);
    rivalNs.push_back(secondsOf([&] { rival.count(traffic.frames()); }) * 1e9 / kFrames);
  }
  print(question, oursNs, rivalNs);
}

/// The table by itself: addresses at hand, one class, no flows.
void benchTable(Rival& rival, double rivalPerHost) {
  std::mt19937_64 random(2);
  std::vector<Address> order(kFrames);
  const AddressHash hash;
  HostIndex index(2 * kHosts);
  HostRows rows(2 * kHosts, false);
  for (std::uint32_t i = 0; i < kHosts; i++) {
    const std::uint32_t ip = 0x0a000000 + i;
    const Address address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, static_cast<std::uint8_t>(ip >> 16),
                           static_cast<std::uint8_t>(ip >> 8), static_cast<std::uint8_t>(ip)}};
    rows.hot(i).key = address;
    index.insert(hash.of(address), i, [&](std::uint32_t row) { return hash.of(rows.addressOf(row)); });
  }
  for (auto& address : order) address = rows.addressOf(static_cast<std::uint32_t>(random() % kHosts));
  Packet packet;
  packet.transport = Class::udp;
  packet.wire = 64;
  std::uint64_t missed = 0;
  const auto countAll = [&] {
    std::array<std::uint64_t, kBatch> hashes;
    std::array<std::uint32_t, kBatch> found;
    for (std::size_t at = 0; at < kFrames; at += kBatch) {
      for (std::size_t i = 0; i < kBatch; i++) {
        hashes[i] = hash.of(order[at + i]);
        index.prefetch(hashes[i]);
      }
      for (std::size_t i = 0; i < kBatch; i++) {
        found[i] = index.candidate(hashes[i]);
        __builtin_prefetch(&rows.hot(found[i]), 1);
      }
      for (std::size_t i = 0; i < kBatch; i++) {
        if (rows.addressOf(found[i]) == order[at + i]) {
          rows.countIncoming(found[i], packet, false);
        } else {
          missed++;
        }
      }
    }
  };
  std::vector<double> oursNs, rivalNs;
  for (int run = 0; run < kRuns; run++) {
    oursNs.push_back(secondsOf(countAll) * 1e9 / kFrames);
    rivalNs.push_back(secondsOf([&] {
                        for (const Address& address : order) rival.add(address, Class::udp, 64);
                      }) *
                      1e9 / kFrames);
  }
  if (missed > kFrames / 100) std::fprintf(stderr, "%llu tags misled\n", static_cast<unsigned long long>(missed));
  print({"count to one of a million hosts, table alone", "ns", 15}, oursNs, rivalNs);
  const std::size_t hotBytes = rows.residentBytes() + index.residentBytes();
  print({"memory of a host that its packets touch", "bytes", 160}, {static_cast<double>(hotBytes) / kHosts},
        {rivalPerHost});
}

void benchFold(const Question& question, Ours& ours, Rival& rival, std::span<const Frame> frames) {
  std::vector<double> oursMs, rivalMs;
  // A whole window first, so that as much leaves it as comes.
  for (int tick = 0; tick < 10; tick++) {
    ours.count(frames);
    ours.foldSeconds();
  }
  for (int run = 0; run < kRuns; run++) {
    ours.count(frames);
    oursMs.push_back(ours.foldSeconds() * 1e3);
    rivalMs.push_back(secondsOf([&] { rival.tick(); }) * 1e3);
  }
  print(question, oursMs, rivalMs);
}

/// Frames that reach the first `hosts` hosts once each.
std::vector<Frame> onceEach(const Traffic& traffic, std::uint32_t hosts) {
  std::vector<bool> isSeen(kHosts);
  std::vector<Frame> frames;
  for (const Frame& frame : traffic.frames()) {
    const std::uint32_t host = static_cast<std::uint32_t>(frame.data[31] << 16 | frame.data[32] << 8 | frame.data[33]);
    if (host >= hosts || isSeen[host]) continue;
    isSeen[host] = true;
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace

int main() {
  const Traffic steady(false);
  std::size_t rivalBytes = mallinfo2().uordblks;
  Rival rival;
  rival.count(steady.frames());
  rivalBytes = mallinfo2().uordblks - rivalBytes;

  Ours ours;
  // The memory that a worker needs whatever the number of its hosts, that of flows above all, is not a host's.
  ours.count(Traffic(true).frames().first(1000));
  const std::uint64_t before = ours.engine.stats().memoryBytes;
  const std::vector<Frame> all = onceEach(steady, kHosts);
  for (int tick = 0; tick < 12; tick++) {
    ours.count(all);
    ours.foldSeconds();
  }
  const double perHost = static_cast<double>(ours.engine.stats().memoryBytes - before) / kHosts;
  const double rivalPerHost = static_cast<double>(rivalBytes) / kHosts;
  print({"memory of a host that sends in every tick, one worker, incoming only", "bytes", 400}, {perHost},
        {rivalPerHost});

  benchTable(rival, rivalPerHost);
  benchPackets({"parse and count one packet, a million hosts with one flow each", "ns", 50}, ours, rival, steady);
  {
    const Traffic fresh(true);
    benchPackets({"parse and count one packet, every packet a new flow", "ns", 50}, ours, rival, fresh);
  }
  benchFold({"fold of a million hosts, all active", "ms", 0}, ours, rival, all);
  benchFold({"fold of a million hosts, 1 % active", "ms", 0}, ours, rival, onceEach(steady, kHosts / 100));
  return 0;
}
