// An array of zeros of fixed size whose pages the kernel commits at first use: the bound is reserved at once, the
// memory follows what is used.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace floodwall {

/// Huge pages are worth more than anything else in tables that are read at random. An array that is filled from its
/// beginning needs none, and takes less memory without; so does a table that grows, while it is small.
enum class Pages : std::uint8_t { huge, hugeFromSecond, small };

/// One anonymous mapping.
class LazyMemory {
 public:
  LazyMemory(std::size_t bytes, Pages pages);
  ~LazyMemory();
  LazyMemory(LazyMemory&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(other.mapped_), start_(other.start_) {}
  LazyMemory& operator=(LazyMemory&&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return start_; }
  /// Gives the whole pages between these offsets back to the kernel; they are zeros again.
  void release(std::size_t from, std::size_t to) const noexcept;
  /// Bytes that the kernel has committed.
  [[nodiscard]] std::size_t residentBytes() const;
  /// Has the kernel commit the first `bytes` now. Where it cannot, pages follow at first use.
  void commit(std::size_t bytes) const noexcept;

 private:
  void* mapping_;
  std::size_t mapped_;
  std::byte* start_;
};

template <typename T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 4096);

 public:
  explicit LazyArray(std::size_t count, Pages pages = Pages::huge) : memory_(count * sizeof(T), pages), size_(count) {}
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* data() const noexcept { return std::launder(reinterpret_cast<T*>(memory_.data())); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Gives memory of these elements back. Parts of a page keep their values.
  void release(std::size_t first, std::size_t count) const noexcept {
    memory_.release(first * sizeof(T), (first + count) * sizeof(T));
  }
  [[nodiscard]] std::size_t residentBytes() const { return size_ == 0 ? 0 : memory_.residentBytes(); }
  /// Has the kernel commit its first bytes now.
  void commit(std::size_t mostBytes) const noexcept { memory_.commit(std::min(mostBytes, size_ * sizeof(T))); }

 private:
  LazyMemory memory_;
  std::size_t size_;
};

}  // namespace floodwall
