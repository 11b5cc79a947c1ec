// Measures the stages of the AF_XDP worker by the time stamp counter, without a change of its sources: the linker puts
// these functions around those that the worker calls (ld's --wrap). One worker writes the counters into the file of
// FLOODWALL_STAGES, and the bench reads them while it runs (packet-stages.ts has the same order).
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <x86intrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <span>

#include "capture/capture_thread.h"
#include "capture/xsk_socket.h"

namespace {

using namespace floodwall;

/// Times in ticks of the counter, but for `nowNs`.
struct Stages {
  std::uint64_t nowTicks, nowNs;
  std::uint64_t batches, buffers, receiveTicks, countTicks;
  std::uint64_t kernelCalls, kernelTicks;
  std::uint64_t pauses, waits;
  /// How many buffers a worker found from a pause to the next, by their binary logarithm.
  std::array<std::uint64_t, 16> found;
};

Stages* openStages() {
  static Stages unused;
  const char* path = std::getenv("FLOODWALL_STAGES");
  if (path == nullptr) return &unused;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Stages)) != 0) return &unused;
  void* mapped = mmap(nullptr, sizeof(Stages), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? &unused : static_cast<Stages*>(mapped);
}

Stages& stages() {
  static Stages* const opened = openStages();
  return *opened;
}

std::uint64_t foundNow = 0;

/// The worker found no more: it rests.
void rested() {
  Stages& all = stages();
  if (foundNow > 0) all.found[static_cast<std::size_t>(std::bit_width(foundNow)) - 1]++;
  foundNow = 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  all.nowNs = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  all.nowTicks = __rdtsc();
}

}  // namespace

// NOLINTBEGIN: the linker makes these names.
extern "C" {
std::uint32_t __real__ZN9floodwall9XskSocket7receiveERNS_5ShardE(XskSocket* socket, Shard& shard);
void __real__ZN9floodwall5Shard11countFramesESt4spanIKNS_5FrameELm18446744073709551615EENS_4LinkE(
    Shard* shard, std::span<const Frame> frames, Link link);
ssize_t __real_recvfrom(int fd, void* buffer, std::size_t bytes, int flags, sockaddr* from, socklen_t* length);
Wakeup __real__ZN9floodwall12waitReadableEiii(int fd, int stopFd, int timeoutMs);
int __real_nanosleep(const timespec* wanted, timespec* left);

std::uint32_t __wrap__ZN9floodwall9XskSocket7receiveERNS_5ShardE(XskSocket* socket, Shard& shard) {
  const std::uint64_t began = __rdtsc();
  const std::uint32_t buffers = __real__ZN9floodwall9XskSocket7receiveERNS_5ShardE(socket, shard);
  Stages& all = stages();
  all.receiveTicks += __rdtsc() - began;
  if (buffers > 0) all.batches++;
  all.buffers += buffers;
  foundNow += buffers;
  return buffers;
}

void __wrap__ZN9floodwall5Shard11countFramesESt4spanIKNS_5FrameELm18446744073709551615EENS_4LinkE(
    Shard* shard, std::span<const Frame> frames, Link link) {
  const std::uint64_t began = __rdtsc();
  __real__ZN9floodwall5Shard11countFramesESt4spanIKNS_5FrameELm18446744073709551615EENS_4LinkE(shard, frames, link);
  stages().countTicks += __rdtsc() - began;
}

ssize_t __wrap_recvfrom(int fd, void* buffer, std::size_t bytes, int flags, sockaddr* from, socklen_t* length) {
  const std::uint64_t began = __rdtsc();
  const ssize_t got = __real_recvfrom(fd, buffer, bytes, flags, from, length);
  stages().kernelCalls++;
  stages().kernelTicks += __rdtsc() - began;
  return got;
}

Wakeup __wrap__ZN9floodwall12waitReadableEiii(int fd, int stopFd, int timeoutMs) {
  rested();
  stages().waits++;
  return __real__ZN9floodwall12waitReadableEiii(fd, stopFd, timeoutMs);
}

int __wrap_nanosleep(const timespec* wanted, timespec* left) {
  rested();
  stages().pauses++;
  return __real_nanosleep(wanted, left);
}
}
// NOLINTEND
