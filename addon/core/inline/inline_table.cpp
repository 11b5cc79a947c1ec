#include "inline/inline_table.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/source_error.h"
#include "base/unique_fd.h"

namespace floodwall {
namespace {

/// Room at first, and what is kept beyond the hosts that there are: a flood of new hosts must find rows until the next
/// reading makes more.
constexpr std::uint32_t kRoomAtFirst = 4 * INLINE_CHUNK_ROWS, kRoomTimes = 4;

std::size_t pagesOf(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

UniqueFd makeChunk() {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.map_flags = BPF_F_MMAPABLE;
  return UniqueFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "row_chunk", sizeof(std::uint32_t), sizeof(inline_row),
                                 INLINE_CHUNK_ROWS, &options));
}

std::uint32_t rowIn(std::uint32_t way) noexcept { return (way & ~INLINE_TAG_MASK) - 1; }

std::uint32_t load(const std::uint32_t& word) noexcept { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void store(std::uint32_t& word, std::uint32_t value) noexcept { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

}  // namespace

MappedArray::MappedArray(int mapFd, std::size_t bytes)
    : memory_(mmap(nullptr, pagesOf(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, mapFd, 0)), bytes_(pagesOf(bytes)) {
  if (memory_ == MAP_FAILED) throw SourceError(std::string("cannot map the XDP counter's hosts: ") + strerror(errno));
}

MappedArray::MappedArray(MappedArray&& other) noexcept
    : memory_(std::exchange(other.memory_, MAP_FAILED)), bytes_(other.bytes_) {}

MappedArray::~MappedArray() {
  if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
}

InlineTable::InlineTable(const Maps& maps, const Shape& shape)
    : shape_(shape),
      chunksFd_(maps.chunks),
      laneStates_(maps.lanes, shape.lanes * sizeof(inline_lane)),
      buckets_(maps.buckets, std::size_t{shape.lanes} * (shape.nearBuckets + shape.farBuckets) * sizeof(inline_bucket)),
      chunks_(shape.lanes) {
  std::copy(shape.seed.begin(), shape.seed.end(), seed_.begin());
  if (!makeRoom()) throw SourceError(std::string("no memory for the XDP counter's hosts: ") + strerror(errno));
}

std::uint32_t InlineTable::usedRows(std::uint32_t lane) const noexcept { return load(state(lane).used_rows); }

std::uint32_t InlineTable::limitOf(std::uint32_t lane) const noexcept {
  const std::uint64_t wanted = std::max<std::uint64_t>(kRoomAtFirst, std::uint64_t{usedRows(lane)} * kRoomTimes);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, shape_.maxRows));
}

bool InlineTable::makeRoom() {
  std::vector<std::size_t> before;
  for (const auto& own : chunks_) before.push_back(own.size());
  if (!addChunks()) {
    // Rows of them that the kernel already has are beyond the limit, and are replaced the next time.
    for (std::uint32_t lane = 0; lane < lanes(); lane++) {
      while (chunks_[lane].size() > before[lane]) chunks_[lane].pop_back();
    }
    return false;
  }
  for (std::uint32_t lane = 0; lane < lanes(); lane++) store(state(lane).row_limit, limitOf(lane));
  return true;
}

bool InlineTable::addChunks() {
  std::vector<std::uint32_t> keys;
  std::vector<UniqueFd> made;
  std::vector<int> fds;
  for (std::uint32_t lane = 0; lane < lanes(); lane++) {
    std::vector<MappedArray>& own = chunks_[lane];
    while (own.size() * INLINE_CHUNK_ROWS < limitOf(lane)) {
      UniqueFd chunk = makeChunk();
      if (!chunk) return false;
      keys.push_back(static_cast<std::uint32_t>(lane * shape_.chunks + own.size()));
      fds.push_back(chunk.get());
      own.emplace_back(chunk.get(), INLINE_CHUNK_ROWS * sizeof(inline_row));
      made.push_back(std::move(chunk));
    }
  }
  // All at once: after each such call the kernel waits for the programs that run.
  auto count = static_cast<std::uint32_t>(keys.size());
  return count == 0 || bpf_map_update_batch(chunksFd_, keys.data(), fds.data(), &count, nullptr) == 0;
}

void InlineTable::unlink(std::uint32_t lane, std::uint32_t row) noexcept {
  if (std::uint32_t* way = wayOf(lane, this->row(lane, row).address)) store(*way, 0);
}

bool InlineTable::giveBack(std::uint32_t lane, std::span<const std::uint32_t> rows) noexcept {
  if (rows.empty()) return true;
  if (load(state(lane).given_back) != 0) return false;
  std::uint32_t first = 0;
  for (const std::uint32_t number : rows) {
    row(lane, number).address.words[0] = first;
    first = number + 1;
  }
  store(state(lane).given_back, first);
  return true;
}

std::optional<std::uint32_t> InlineTable::find(std::uint32_t lane, const Address& address) const noexcept {
  ip_address key;
  std::copy(address.bytes.begin(), address.bytes.end(), std::begin(key.bytes));
  const std::uint32_t* way = wayOf(lane, key);
  if (way == nullptr) return std::nullopt;
  return rowIn(load(*way));
}

std::uint32_t* InlineTable::wayOf(std::uint32_t lane, const ip_address& address) const noexcept {
  const std::uint64_t hash = inline_host_hash(&address, seed_.data());
  const std::uint32_t near = shape_.nearBuckets, far = shape_.farBuckets;
  auto* buckets = buckets_.as<inline_bucket>();
  std::uint32_t* way = wayIn(buckets[inline_near_bucket(lane, near, far, hash)], lane, address);
  if (way != nullptr || far == 0) return way;
  return wayIn(buckets[inline_far_bucket(lane, near, far, hash)], lane, address);
}

std::uint32_t* InlineTable::wayIn(inline_bucket& bucket, std::uint32_t lane, const ip_address& address) const noexcept {
  for (std::uint32_t& way : bucket.ways) {
    const std::uint32_t held = load(way);
    if (held == 0) continue;
    if (std::memcmp(row(lane, rowIn(held)).address.bytes, address.bytes, sizeof address.bytes) == 0) return &way;
  }
  return nullptr;
}

}  // namespace floodwall
