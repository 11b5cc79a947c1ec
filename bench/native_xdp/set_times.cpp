// What does a look-up among a million prefixes take, in our named sets and in a trie of the kernel; and what becomes of
// packets while a set of a million prefixes is exchanged? Test runs in the kernel, without a device: random sources,
// all cases in turn, and of each the shortest of many short runs. Prints one line of JSON.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <endian.h>
#include <linux/bpf.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "filter/named_sets.h"
#include "program/bpf_process.h"
#include "set_lookup.h"
// The skeleton needs the structs of it.
#include "set_lookup.skel.h"

using namespace floodwall;

namespace {

constexpr int kPackets = 1 << 14, kRunsInTurn = 8;
constexpr std::uint32_t kPieceLength = SET_PIECE_BITS, kSetsOfGeneration = 2;

void check(int error, const char* what) {
  if (error < 0) throw std::runtime_error(std::string(what) + ": " + strerror(-error));
}

void pinToCpu(std::size_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  check(sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : -errno, "pin to a CPU");
}

double cpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double wallMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint32_t addressOf(std::uint32_t piece) { return piece << (32 - kPieceLength); }

/// The sets of one generation.
struct Sets {
  explicit Sets(std::uint32_t generation) : first(kSetsOfGeneration * generation) {
    for (std::uint32_t piece = 0; piece < SET_PIECES; piece++) {
      const std::uint32_t at = static_cast<std::uint32_t>(set_bit_of(generation, addressOf(piece))) - first;
      std::array<std::uint8_t, 16> address{};
      address[10] = address[11] = 0xff;
      const std::uint32_t bytes = htobe32(addressOf(piece));
      std::memcpy(&address[12], &bytes, sizeof bytes);
      addresses.at(at).insert(addresses.at(at).end(), address.begin(), address.end());
      lengths.at(at).push_back(96 + kPieceLength);
    }
  }
  [[nodiscard]] NamedSets build() const {
    std::vector<NamedPrefixes> sets;
    for (std::uint32_t i = 0; i < kSetsOfGeneration; i++) {
      sets.push_back({.name = "set" + std::to_string(first + i),
                      .bit = first + i,
                      .addresses = addresses.at(i),
                      .lengths = lengths.at(i)});
    }
    return NamedSets(sets);
  }

  std::uint32_t first;
  std::array<std::vector<std::uint8_t>, kSetsOfGeneration> addresses, lengths;
};

class Lookup {
 public:
  explicit Lookup(const FilterMaps& maps) : skeleton_(set_lookup_bpf__open()) {
    if (!skeleton_) throw std::runtime_error("cannot open the programs");
    check(bpf_map__reuse_fd(skeleton_->maps.filter_named_sets, maps.namedSetsFd()), "give the programs the sets");
    check(set_lookup_bpf__load(skeleton_.get()), "load the programs");
  }

  void fillTrie() {
    struct Key {
      std::uint32_t length, address;
    };
    for (std::uint32_t piece = 0; piece < SET_PIECES; piece++) {
      const Key key{.length = kPieceLength, .address = htobe32(addressOf(piece))};
      const std::uint64_t sets = set_bitmap_of(0, addressOf(piece));
      check(bpf_map_update_elem(bpf_map__fd(skeleton_->maps.trie), &key, &sets, BPF_ANY), "fill the trie");
    }
  }

  void run(const bpf_program* program, int packets) const {
    std::array<std::uint8_t, 64> frame{};
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = frame.size();
    options.repeat = packets;
    check(bpf_prog_test_run_opts(bpf_program__fd(program), &options), "run a program");
  }

  [[nodiscard]] volatile set_counts& counts() const { return skeleton_->bss->counts; }
  [[nodiscard]] const auto& programs() const { return skeleton_->progs; }

 private:
  struct Close {
    void operator()(set_lookup_bpf* skeleton) const { set_lookup_bpf__destroy(skeleton); }
  };
  std::unique_ptr<set_lookup_bpf, Close> skeleton_;
};

void measureLookups(const FilterMaps& maps, Lookup& lookup, const Sets& sets, int rounds) {
  putNamedSets(maps, sets.build());
  lookup.fillTrie();
  const std::array<const bpf_program*, 3> programs{lookup.programs().in_nothing, lookup.programs().in_sets,
                                                   lookup.programs().in_trie};
  std::array<double, 3> least{};
  least.fill(std::numeric_limits<double>::max());
  for (int round = 0; round < rounds; round++) {
    for (std::size_t i = 0; i < programs.size(); i++) {
      for (int run = 0; run < kRunsInTurn; run++) {
        const double start = cpuNs();
        lookup.run(programs.at(i), kPackets);
        least.at(i) = std::min(least.at(i), (cpuNs() - start) / kPackets);
      }
    }
  }
  if (lookup.counts().second + lookup.counts().neither != 0) throw std::runtime_error("a look-up was wrong");
  std::printf("\"nothing\": %.1f, \"sets\": %.1f, \"trie\": %.1f", least[0], least[1], least[2]);
}

/// The longest and the median of the updates, and what became of the packets.
void measureSwaps(const FilterMaps& maps, const Lookup& lookup, const std::array<Sets, 2>& sets, int swaps) {
  std::atomic<bool> isOver = false;
  volatile set_counts& counts = lookup.counts();
  counts.first = 0;
  counts.second = 0;
  counts.neither = 0;
  const double start = wallMs();
  std::thread traffic([&] {
    pinToCpu(1);
    while (!isOver) lookup.run(lookup.programs().in_sets, 1 << 20);
  });
  pinToCpu(0);
  std::vector<double> buildMs, putMs;
  for (int swap = 0; swap < swaps; swap++) {
    const double begin = wallMs();
    const NamedSets next = sets.at(static_cast<std::size_t>(swap + 1) % 2).build();
    const double built = wallMs();
    putNamedSets(maps, next);
    buildMs.push_back(built - begin);
    putMs.push_back(wallMs() - built);
  }
  isOver = true;
  traffic.join();
  const double seconds = (wallMs() - start) / 1000;
  std::sort(buildMs.begin(), buildMs.end());
  std::sort(putMs.begin(), putMs.end());
  const std::uint64_t first = counts.first, second = counts.second, neither = counts.neither;
  std::printf(", \"swaps\": %d, \"buildMs\": %.0f, \"putMs\": %.1f, \"putMsMost\": %.1f", swaps,
              buildMs[buildMs.size() / 2], putMs[putMs.size() / 2], putMs.back());
  std::printf(", \"first\": %llu, \"second\": %llu, \"neither\": %llu, \"packetsPerSecond\": %.0f",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(second),
              static_cast<unsigned long long>(neither), static_cast<double>(first + second + neither) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 10, swaps = argc > 2 ? std::atoi(argv[2]) : 10;
    pinToCpu(1);
    prepareBpf();
    const FilterMaps maps = FilterMaps::create({});
    const std::array<Sets, 2> sets{Sets(0), Sets(1)};
    Lookup lookup(maps);
    std::printf("{");
    measureLookups(maps, lookup, sets[0], rounds);
    measureSwaps(maps, lookup, sets, swaps);
    std::printf("}\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "set_times: %s\n", error.what());
    return 1;
  }
}
