// What a capture worker gets of its CPU, with and without the permission to ask for more.
#include "capture/worker_priority.h"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <thread>

using namespace floodwall;

namespace {

/// In a thread of its own, since all of this is the thread's.
template <typename Body>
void inThread(Body body) {
  std::thread(body).join();
}

int policy() { return sched_getscheduler(0); }
int nice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

/// Of the calling thread alone.
void dropPermission() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  REQUIRE(syscall(SYS_capget, &header, sets.data()) == 0);
  sets[0].effective &= ~(1U << CAP_SYS_NICE);
  REQUIRE(syscall(SYS_capset, &header, sets.data()) == 0);
  // What is allowed without it.
  const rlimit none{0, 0};
  REQUIRE(setrlimit(RLIMIT_RTPRIO, &none) == 0);
}

}  // namespace

TEST_CASE("a worker has real-time priority until it gets no rest, and again once it had some") {
  inThread([] {
    WorkerPriority priority;
    if (priority.highest() != Priority::realTime) {
      std::printf("skipped: real-time priority of a worker (no permission)\n");
      return;
    }
    CHECK(policy() == SCHED_RR);
    priority.worked(100'000);
    CHECK(policy() == SCHED_RR);
    priority.worked(200'000);
    CHECK(policy() == SCHED_OTHER);
    CHECK(nice() == -10);
    priority.rested();
    CHECK(policy() == SCHED_RR);
  });
}

TEST_CASE("a worker without the permission goes on with what it has, and says so") {
  inThread([] {
    const int before = nice();
    dropPermission();
    WorkerPriority priority;
    CHECK(priority.highest() == (before > -10 ? Priority::usual : Priority::raised));
    priority.worked(200'000);
    priority.rested();
    CHECK(policy() == SCHED_OTHER);
    CHECK(nice() == before);
  });
}
