// Decodes very many datagrams that are nearly right: `fuzz_flow_mutations CASES FILE...` gives each protocol CASES,
// on all CPUs, from the recorded datagrams of the files and from random templates. Faster by far than a fuzzer that
// follows coverage, and so beside it. The memory after a datagram may not be read, the standard library's bounds are
// checked, and so is what must hold of each record. `SEED` in the environment repeats a run; a failure is named by its
// block.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <random>
#include <thread>

#include "checked_records.h"
#include "datagram_maker.h"
#include "flow/flow_bounds.h"
#include "flow/flow_work.h"
#include "guarded_memory.h"

namespace {

using namespace floodwall;
using namespace floodwall::fuzz;

/// Datagrams to one exporter.
constexpr std::uint32_t kBlock = 1024;

struct Progress {
  std::atomic<std::uint64_t> cases{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> refused{0};
};

/// What the signal handler prints.
thread_local const char* protocolName = "";
thread_local std::uint64_t blockNumber = 0;
std::uint64_t seed = 0;

void printCase(int signal) {
  std::array<char, 160> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "FAILED: signal %d, %s, SEED=%llu, block %llu\n", signal, protocolName,
                    static_cast<unsigned long long>(seed), static_cast<unsigned long long>(blockNumber));
  const auto written = write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length));
  _exit(written < 0 ? 2 : 1);
}

void runBlock(DatagramMaker& maker, Random& random, const GuardedMemory& memory, Progress& progress) {
  FlowExporter exporter;
  if (random.oneIn(2)) exporter.setDecapsulation(Encapsulations::all());
  CheckedRecords records;
  std::uint64_t nowMs = 1'700'000'000'000;
  for (std::uint32_t number = 0; number < kBlock; number++) {
    const Datagram& made = maker.next(random, number);
    const auto datagram = memory.last(made.size());
    std::copy(made.begin(), made.end(), datagram.begin());
    const std::uint64_t workBefore = exporter.work();
    exporter.decode(ByteSpan(datagram), nowMs, records);
    // Data that waited for a template is of the bytes before.
    if (exporter.work() - workBefore > kWorkPerDatagram + kWorkPerByte * (made.size() + kWaitingBytesMax)) std::abort();
    nowMs += random.oneIn(256) ? kFlowIdleMs : random.oneIn(64) ? kWaitingMs : 1;
  }
  checkStatus(exporter, records.taken);
  FlowExporterStatus status;
  exporter.statusInto(status);
  for (const std::uint64_t count : status.undecodedByKind) progress.refused += count;
  progress.cases += kBlock;
  progress.records += records.taken;
}

void runBlocks(FlowProtocol protocol, std::span<const Datagram> recorded, std::atomic<std::uint64_t>& next,
               std::uint64_t blocks, Progress& progress) {
  protocolName = kFlowProtocolNames.at(static_cast<std::size_t>(protocol));
  const GuardedMemory memory;
  DatagramMaker maker(protocol, recorded);
  while ((blockNumber = next.fetch_add(1)) < blocks) {
    Random random(seed ^ (blockNumber * kFlowProtocols + static_cast<std::uint64_t>(protocol)) << 20);
    runBlock(maker, random, memory, progress);
  }
}

void runProtocol(FlowProtocol protocol, std::span<const Datagram> recorded, std::uint64_t cases) {
  const std::uint64_t blocks = (cases + kBlock - 1) / kBlock;
  Progress progress;
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> threads;
  const auto began = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); i++) {
    threads.emplace_back([&] { runBlocks(protocol, recorded, next, blocks, progress); });
  }
  threads.clear();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  std::printf("%-9s %llu datagrams decoded in %.0f s: %llu records, %llu things refused\n",
              kFlowProtocolNames.at(static_cast<std::size_t>(protocol)),
              static_cast<unsigned long long>(progress.cases), seconds.count(),
              static_cast<unsigned long long>(progress.records), static_cast<unsigned long long>(progress.refused));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t cases = argc < 3 ? 0 : std::strtoull(arguments[1], nullptr, 10);
  if (cases == 0) {
    std::fputs("usage: fuzz_flow_mutations CASES FILE...\n", stderr);
    return 2;
  }
  std::array<std::vector<Datagram>, kFlowProtocols> recorded;
  for (const char* const path : arguments.subspan(2)) {
    for (const Datagram& datagram : recordedIn(path)) {
      recorded.at(static_cast<std::size_t>(protocolOf(datagram))).push_back(datagram);
    }
  }
  const char* const given = std::getenv("SEED");
  seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) std::signal(signal, printCase);
  for (std::size_t i = 0; i < kFlowProtocols; i++) {
    if (recorded.at(i).empty())
      throw std::runtime_error(std::string("no recorded datagram of ") + kFlowProtocolNames.at(i));
    runProtocol(static_cast<FlowProtocol>(i), recorded.at(i), cases);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "fuzz_flow_mutations: %s\n", problem.what());
  return 2;
}
