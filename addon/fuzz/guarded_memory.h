// Memory whose end is a page that nothing may touch: a read beyond it ends the program, at the speed of any other read.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <span>

namespace floodwall::fuzz {

class GuardedMemory {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  GuardedMemory() {
    constexpr std::size_t kGuard = 4096;
    void* const mapped = mmap(nullptr, kBytesMax + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    memory_ = static_cast<std::uint8_t*>(mapped);
    if (mprotect(memory_ + kBytesMax, kGuard, PROT_NONE) != 0) std::abort();
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(memory_, 2 * kBytesMax); }

  /// The last bytes before the guard.
  [[nodiscard]] std::span<std::uint8_t> last(std::size_t bytes) const { return {memory_ + kBytesMax - bytes, bytes}; }

 private:
  std::uint8_t* memory_ = nullptr;
};

}  // namespace floodwall::fuzz
