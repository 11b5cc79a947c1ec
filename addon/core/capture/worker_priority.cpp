#include "capture/worker_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace floodwall {

const char* priorityText(Priority priority) {
  switch (priority) {
    case Priority::realTime:
      return "real-time priority";
    case Priority::raised:
      return "raised priority";
    default:
      return "usual priority (more needs CAP_SYS_NICE)";
  }
}

Priority raisePriority() {
  constexpr int kNice = -10;
  return setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice) == 0 ? Priority::raised : Priority::usual;
}

WorkerPriority::WorkerPriority() : highest_(raisePriority()) {
  if (setRealTime(true)) highest_ = Priority::realTime;
}

/// The nice value stays as it is and holds whenever real time does not.
bool WorkerPriority::setRealTime(bool isOn) {
  // The lowest real-time priority: above all ordinary threads, below all other real-time threads. RESET_ON_FORK is not
  // needed, since workers start no threads.
  const sched_param parameters{.sched_priority = isOn ? 1 : 0};
  if (sched_setscheduler(0, isOn ? SCHED_RR : SCHED_OTHER, &parameters) != 0) return false;
  isRealTime_ = isOn;
  return true;
}

}  // namespace floodwall
