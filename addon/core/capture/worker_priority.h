// The priority of a capture worker, above other work of the machine: a worker that waits for its CPU loses packets
// within milliseconds. Sets that of the calling thread, and no more than this process is allowed.
#pragma once

#include <cstdint>

namespace floodwall {

enum class Priority : std::uint8_t {
  /// Not known yet.
  unknown,
  /// As any other thread: the process may not ask for more.
  usual,
  /// A nice value of -10: most of a CPU that others want too, but it may wait for milliseconds until it is its turn.
  raised,
  /// SCHED_RR: at once.
  realTime,
};

/// For people: "real-time priority".
[[nodiscard]] const char* priorityText(Priority priority);

/// Raises the calling thread to a nice value of -10. For workers that sleep when no packets come.
Priority raisePriority();

/// Real-time priority for as long as the worker rests now and then. Under a load that leaves it no rest it falls back
/// to the raised priority, so that the threads that judge its counts can run on the same CPU.
class WorkerPriority {
 public:
  /// For the calling thread, which is the only one to use it.
  WorkerPriority();

  [[nodiscard]] Priority highest() const { return highest_; }
  /// The number of packets that the worker has counted since it began or rested.
  void worked(std::uint64_t packets) {
    if (packets >= kRestless && isRealTime_) setRealTime(false);
  }
  void rested() {
    if (!isRealTime_ && highest_ == Priority::realTime) setRealTime(true);
  }

 private:
  /// A few tens of milliseconds of work.
  static constexpr std::uint64_t kRestless = 131'072;

  bool setRealTime(bool isOn);

  Priority highest_;
  bool isRealTime_ = false;
};

}  // namespace floodwall
