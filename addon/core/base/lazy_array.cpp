#include "base/lazy_array.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace floodwall {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

LazyMemory::LazyMemory(std::size_t bytes, Pages pages) : mapping_(nullptr), mapped_(bytes), start_(nullptr) {
  if (bytes == 0) return;
  // Room to begin on a huge page; the kernel aligns such mappings by itself only since 6.7.
  const bool isLarge = pages != Pages::small && bytes >= 2 * kHugePage;
  if (isLarge) mapped_ += kHugePage;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  start_ = static_cast<std::byte*>(mapping_);
  if (!isLarge) return;
  const std::size_t over = reinterpret_cast<std::uintptr_t>(start_) % kHugePage;
  if (over != 0) start_ += kHugePage - over;
  const std::size_t small = pages == Pages::hugeFromSecond ? kHugePage : 0;
  // Without huge pages everything works, more slowly.
  (void)madvise(start_ + small, bytes - small, MADV_HUGEPAGE);
}

LazyMemory::~LazyMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

void LazyMemory::release(std::size_t from, std::size_t to) const noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  from = (from + page - 1) / page * page;
  to = to / page * page;
  if (from < to) (void)madvise(start_ + from, to - from, MADV_DONTNEED);
}

std::size_t LazyMemory::residentBytes() const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> state;
  std::size_t resident = 0;
  for (std::size_t at = 0; at < mapped_; at += state.size() * page) {
    const std::size_t length = std::min(state.size() * page, mapped_ - at);
    if (mincore(static_cast<std::byte*>(mapping_) + at, length, state.data()) != 0) continue;
    const std::size_t pages = (length + page - 1) / page;
    resident +=
        static_cast<std::size_t>(std::count_if(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(pages),
                                               [](unsigned char s) { return (s & 1) != 0; }));
  }
  return resident * page;
}

void LazyMemory::commit(std::size_t bytes) const noexcept {
  if (bytes != 0) (void)madvise(start_, bytes, MADV_POPULATE_WRITE);
}

}  // namespace floodwall
