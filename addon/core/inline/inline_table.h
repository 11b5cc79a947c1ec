// The hosts that the inline program counts, as their reader sees them: the kernel's own memory, mapped. Gives the
// program room for more and takes rows away; what was counted is for the reader to know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/counters.h"
#include "inline_abi.h"

namespace floodwall {

/// Memory of a BPF array map that this process reads and writes beside the kernel.
class MappedArray {
 public:
  /// Throws SourceError.
  MappedArray(int mapFd, std::size_t bytes);
  MappedArray(MappedArray&& other) noexcept;
  MappedArray& operator=(MappedArray&&) = delete;
  ~MappedArray();

  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_;
  std::size_t bytes_;
};

class InlineTable {
 public:
  struct Maps {
    int lanes, buckets, chunks;
  };
  struct Shape {
    std::uint32_t lanes;
    std::uint32_t maxRows;
    std::uint32_t nearBuckets;
    std::uint32_t farBuckets;
    std::uint32_t chunks;
    std::span<const std::uint32_t, INLINE_HOST_SEED_WORDS> seed;
  };
  /// Throws SourceError.
  InlineTable(const Maps& maps, const Shape& shape);

  [[nodiscard]] std::uint32_t lanes() const noexcept { return static_cast<std::uint32_t>(chunks_.size()); }
  /// Rows of a lane that were ever in use; those below it may be read.
  [[nodiscard]] std::uint32_t usedRows(std::uint32_t lane) const noexcept;
  [[nodiscard]] inline_row& row(std::uint32_t lane, std::uint32_t row) const noexcept {
    return chunks_[lane][row >> INLINE_CHUNK_BITS].as<inline_row>()[row % INLINE_CHUNK_ROWS];
  }
  /// Keeps room in every lane for several times the hosts that there are, up to the bound. False without memory for it:
  /// then the room stays as it is.
  bool makeRoom();
  /// The program does not find the row any more. A packet that it holds just now may still be counted there.
  void unlink(std::uint32_t lane, std::uint32_t row) noexcept;
  /// Lets the program use unlinked rows again. False when it has not taken over those of the last time.
  bool giveBack(std::uint32_t lane, std::span<const std::uint32_t> rows) noexcept;
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint32_t lane, const Address& address) const noexcept;

 private:
  [[nodiscard]] std::uint32_t limitOf(std::uint32_t lane) const noexcept;
  [[nodiscard]] bool addChunks();
  /// The way that leads to the row of the address; null when there is none.
  [[nodiscard]] std::uint32_t* wayOf(std::uint32_t lane, const ip_address& address) const noexcept;
  [[nodiscard]] std::uint32_t* wayIn(inline_bucket& bucket, std::uint32_t lane,
                                     const ip_address& address) const noexcept;
  [[nodiscard]] inline_lane& state(std::uint32_t lane) const noexcept { return laneStates_.as<inline_lane>()[lane]; }

  Shape shape_;
  std::array<std::uint32_t, INLINE_HOST_SEED_WORDS> seed_{};
  int chunksFd_;
  MappedArray laneStates_;
  MappedArray buckets_;
  std::vector<std::vector<MappedArray>> chunks_;
};

}  // namespace floodwall
