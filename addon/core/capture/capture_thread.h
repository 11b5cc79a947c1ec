// The thread of one capture worker: named, pinned where asked, and stopped by a descriptor that it can poll.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace floodwall {

class CaptureThread {
 public:
  /// `body` returns soon after `stopFd` becomes readable. Throws SourceError when the CPU cannot be had.
  CaptureThread(const std::string& name, std::optional<int> cpu, std::function<void(int stopFd)> body);
  ~CaptureThread();
  CaptureThread(const CaptureThread&) = delete;
  CaptureThread& operator=(const CaptureThread&) = delete;

 private:
  UniqueFd stop_;
  std::thread thread_;
};

/// The CPU for the worker of one queue: the configured ones in turn, none when none is configured.
[[nodiscard]] std::optional<int> cpuFor(const std::vector<int>& cpus, std::size_t worker);

enum class Wakeup { data, stop };
/// Waits until `fd` is readable (or failed), the thread must stop, or the time is over, which counts as data.
/// A negative time waits for ever; a negative `fd` is left out.
Wakeup waitReadable(int fd, int stopFd, int timeoutMs);

}  // namespace floodwall
