// A lock that the fold and readers take in turn: the fold holds it for short pieces of work and, when it takes it
// again, comes after a reader that waits.
#pragma once

#include <mutex>

namespace floodwall {

class FairLock {
 public:
  void lock() {
    const std::scoped_lock turn(turn_);
    held_.lock();
  }
  void unlock() { held_.unlock(); }

 private:
  std::mutex turn_;
  std::mutex held_;
};

}  // namespace floodwall
