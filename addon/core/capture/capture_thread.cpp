#include "capture/capture_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "capture/capture_source.h"

namespace floodwall {
namespace {

constexpr std::size_t kThreadNameMax = 15;

/// Its creator pins it before it starts to count: a worker that moves between CPUs is starved by the load that it
/// counts.
void checkCpu(int cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (cpu >= 0 && cpu < CPU_SETSIZE && sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
      CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) {
    return;
  }
  throw SourceError("CPU " + std::to_string(cpu) +
                    " is not available to this process: correct capture.interfaces[].cpus, see `taskset -p`");
}

void pin(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

}  // namespace

CaptureThread::CaptureThread(const std::string& name, std::optional<int> cpu, std::function<void(int)> body)
    : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw SourceError(std::string("cannot make an event descriptor: ") + strerror(errno));
  if (cpu) checkCpu(*cpu);
  thread_ = std::thread([body = std::move(body), stopFd = stop_.get()] { body(stopFd); });
  pthread_setname_np(thread_.native_handle(), name.substr(0, kThreadNameMax).c_str());
  if (cpu) pin(thread_.native_handle(), *cpu);
}

CaptureThread::~CaptureThread() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::optional<int> cpuFor(const std::vector<int>& cpus, std::size_t worker) {
  if (cpus.empty()) return std::nullopt;
  return cpus[worker % cpus.size()];
}

Wakeup waitReadable(int fd, int stopFd, int timeoutMs) {
  std::array<pollfd, 2> polled{{{stopFd, POLLIN, 0}, {fd, POLLIN, 0}}};
  const int ready = poll(polled.data(), polled.size(), timeoutMs);
  return ready > 0 && (polled[0].revents & POLLIN) != 0 ? Wakeup::stop : Wakeup::data;
}

}  // namespace floodwall
