#include "filter/filter_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "filter/bucket_table.h"
#include "program/xdp_attach.h"

namespace floodwall {
namespace {

/// Rows beyond the bound, since one that was given up is not used again at once.
constexpr std::uint32_t kSpareRows = 1024;
constexpr std::uint32_t kBitsPerLine = 8 * sizeof(filter_bits);
constexpr std::uint32_t kStripesMax = 64;
/// Lifetimes of known sources: ten minutes, and an hour, each about that.
constexpr std::uint32_t kValidatedUnits = (600ULL * 1'000'000'000) >> SOURCE_TIME_SHIFT;
constexpr std::uint32_t kLearnedUnits = (3600ULL * 1'000'000'000) >> SOURCE_TIME_SHIFT;

constexpr std::array<std::size_t, FilterMaps::kMaps> kRowBytes = {
    sizeof(filter_head),   sizeof(filter_pair_group), sizeof(filter_pair_row), sizeof(filter_rule), sizeof(filter_hits),
    sizeof(filter_set),    sizeof(filter_bucket),     sizeof(filter_entry),    sizeof(filter_bits), sizeof(source_set),
    sizeof(allowance_set), sizeof(filter_details),    sizeof(filter_bucket),   sizeof(ip_address),  sizeof(outcome_row),
    sizeof(outcome_early), sizeof(FilterName),        sizeof(FilterName)};

FilterError failed(const std::string& what, int error) {
  return FilterError("cannot " + what + ": " + strerror(error));
}

/// Without a descriptor where nothing usable is pinned; what is only not known now must not be replaced.
UniqueFd openPinned(const std::string& path) {
  UniqueFd fd(bpf_obj_get(path.c_str()));
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) throw failed("open " + path, errno);
  return fd;
}

std::uint32_t cpus() { return static_cast<std::uint32_t>(std::max(1, libbpf_num_possible_cpus())); }

std::uint32_t bucketsFor(std::uint32_t rows) { return std::bit_ceil(rows / BucketTable::kRowsPerBucket + 1); }

/// Rows for half as many again: then nine in ten are at home even when there is no room for one more.
std::uint32_t pairGroupsFor(std::uint32_t pairs) {
  return (pairs + pairs / 2 + kSpareRows + FILTER_GROUP_PAIRS - 1) / FILTER_GROUP_PAIRS;
}

void makeKey(__u64 (&key)[2]) {
  std::random_device random;
  for (__u64& word : key) word = std::uint64_t{random()} << 32 | random();
}

filter_head headOf(const FilterShape& shape) {
  filter_head head{};
  head.schema = FILTER_SCHEMA;
  head.pairs_max = shape.pairsMax;
  head.rules_max = shape.rulesMax;
  head.prefixes_max = shape.prefixesMax;
  head.pair_groups = pairGroupsFor(shape.pairsMax);
  // Room for all new rules beside all old ones.
  head.rule_slots = 2 * shape.rulesMax;
  head.sources_max = shape.sourcesMax;
  head.source_sets = shape.sourcesMax / SOURCES_PER_SET + 1;
  head.validated_units = kValidatedUnits;
  head.learned_units = kLearnedUnits;
  head.stripes = std::min(std::bit_ceil(cpus()), kStripesMax);
  head.are_stripes_shared = cpus() > head.stripes ? 1 : 0;
  std::random_device random;
  for (__u32& word : head.seed) word = random();
  for (auto& key : head.cookie_keys) makeKey(key);
  return head;
}

std::uint32_t roomOf(const FilterShape& shape, std::uint32_t kind) {
  if (kind == FILTER_OPERATOR_RULES) return FILTER_OPERATOR_ENTRIES;
  return kind == FILTER_RULES ? shape.rulesMax : shape.prefixesMax;
}

std::vector<filter_set> setsOf(const FilterShape& shape) {
  std::vector<filter_set> sets(std::size_t{FILTER_SETS} * FILTER_SET_COPIES);
  std::uint32_t bucket = 0, entry = 0;
  for (std::uint32_t index = 0; index < sets.size(); index++) {
    const std::uint32_t room = roomOf(shape, index / FILTER_SET_COPIES);
    sets[index].first_bucket = bucket;
    sets[index].first_entry = entry;
    sets[index].buckets = bucketsFor(room);
    bucket += sets[index].buckets;
    entry += room;
  }
  return sets;
}

std::array<std::uint32_t, FilterMaps::kMaps> rowsOf(const FilterShape& shape, const filter_head& head,
                                                    const std::vector<filter_set>& sets) {
  const std::uint32_t lastRoom = roomOf(shape, FILTER_SETS - 1);
  // Those after the home of the last pair, too.
  const std::uint32_t groups = head.pair_groups + FILTER_REACH_MAX;
  return {1,
          groups,
          groups * FILTER_GROUP_PAIRS,
          head.rule_slots,
          head.rule_slots * head.stripes,
          static_cast<std::uint32_t>(sets.size()),
          sets.back().first_bucket + sets.back().buckets,
          sets.back().first_entry + lastRoom,
          head.pair_groups * FILTER_GROUP_BITS / kBitsPerLine + 1,
          head.source_sets,
          head.source_sets,
          DETAILS_ROWS,
          OUTCOME_BUCKETS,
          OUTCOME_DESTINATIONS_MAX,
          OUTCOME_DESTINATIONS_MAX * head.stripes,
          OUTCOME_EARLY_ROWS * head.stripes,
          head.rule_slots,
          NAMED_SETS_MAX};
}

UniqueFd makeMap(bpf_map_type type, const char* name, std::size_t rowBytes, std::uint32_t rows) {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  if (type == BPF_MAP_TYPE_ARRAY) options.map_flags = BPF_F_MMAPABLE;
  UniqueFd fd(bpf_map_create(type, name, sizeof(std::uint32_t), static_cast<std::uint32_t>(rowBytes), rows, &options));
  if (fd) return fd;
  const int error = errno;
  if (error == EPERM) throw FilterError("no permission to make the filter's maps: " + std::string(kPermissionRemedy));
  const std::string size = std::to_string(rowBytes * rows / 1024) + " KiB for the filter's map " + name;
  throw FilterError("cannot make " + size + ": " + strerror(error) +
                    "; free memory, or lower dataplane.limits.max_dynamic_rules");
}

UniqueFd makeOuterMap(const char* name) {
  // Shows the kernel what the arrays in the slot are like; their sizes may differ.
  const UniqueFd model = makeSetsTable(1);
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.inner_map_fd = static_cast<__u32>(model.get());
  UniqueFd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, name, sizeof(__u32), sizeof(__u32), 1, &options));
  if (!fd) throw failed(std::string("make the filter's map ") + name, errno);
  return fd;
}

bpf_map_info infoOf(int fd) {
  bpf_map_info info{};
  __u32 length = sizeof info;
  if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0) throw failed("ask for a map", errno);
  return info;
}

}  // namespace

UniqueFd makeSetsTable(std::uint32_t lines) {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP;
  UniqueFd fd(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "sets_table", sizeof(std::uint32_t), sizeof(sets_line), lines, &options));
  if (fd) return fd;
  const int error = errno;
  if (error == EPERM) throw FilterError("no permission to make a map of named sets: " + std::string(kPermissionRemedy));
  throw FilterError("cannot make " + std::to_string(lines * sizeof(sets_line) >> 10) +
                    " KiB for named sets: " + strerror(error) + "; free memory, or use fewer prefixes in prefix_sets");
}

RowMap::RowMap(UniqueFd fd, bool isWritable) : fd_(std::move(fd)) {
  const bpf_map_info info = infoOf(fd_.get());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t rowBytes = (info.value_size + 7) / 8 * 8;
  bytes_ = rowBytes * info.max_entries;
  mappedBytes_ = (bytes_ + page - 1) / page * page;
  at_ = mmap(nullptr, mappedBytes_, PROT_READ | (isWritable ? PROT_WRITE : 0), MAP_SHARED, fd_.get(), 0);
  if (at_ != MAP_FAILED) return;
  at_ = nullptr;
  throw failed(std::string("map ") + info.name + " into memory", errno);
}

RowMap::~RowMap() {
  if (at_ != nullptr) munmap(at_, mappedBytes_);
}

void RowMap::swap(RowMap& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(at_, other.at_);
  std::swap(bytes_, other.bytes_);
  std::swap(mappedBytes_, other.mappedBytes_);
}

FilterMaps FilterMaps::create(const FilterShape& shape) {
  const filter_head head = headOf(shape);
  const std::vector<filter_set> sets = setsOf(shape);
  const auto rows = rowsOf(shape, head, sets);
  FilterMaps made;
  for (std::size_t i = 0; i < kMaps; i++) {
    made.maps_.at(i) = RowMap(makeMap(BPF_MAP_TYPE_ARRAY, kNames.at(i), kRowBytes.at(i), rows.at(i)), true);
  }
  made.stats_ = makeMap(BPF_MAP_TYPE_PERCPU_ARRAY, kStatsName, sizeof(filter_stats), 1);
  made.namedSets_ = makeOuterMap(kNamedSetsName);
  std::copy(sets.begin(), sets.end(), made.sets().begin());
  made.head() = head;
  return made;
}

std::optional<FilterMaps> FilterMaps::open(const std::string& directory, bool isWritable) {
  FilterMaps found;
  for (std::size_t i = 0; i < kMaps; i++) {
    UniqueFd fd = openPinned(directory + "/" + kNames.at(i));
    if (!fd || infoOf(fd.get()).value_size != kRowBytes.at(i)) return std::nullopt;
    found.maps_.at(i) = RowMap(std::move(fd), isWritable);
  }
  found.stats_ = openPinned(directory + "/" + kStatsName);
  if (!found.stats_ || infoOf(found.stats_.get()).value_size != sizeof(filter_stats)) return std::nullopt;
  found.namedSets_ = openPinned(directory + "/" + kNamedSetsName);
  if (!found.namedSets_ || infoOf(found.namedSets_.get()).type != BPF_MAP_TYPE_ARRAY_OF_MAPS) return std::nullopt;
  const filter_head& head = found.head();
  if (head.schema != FILTER_SCHEMA) return std::nullopt;
  const FilterShape shape = found.shape();
  const filter_head wanted = headOf(shape);
  if (head.stripes != wanted.stripes || head.are_stripes_shared != wanted.are_stripes_shared) return std::nullopt;
  if (head.pair_groups != wanted.pair_groups) return std::nullopt;
  const auto rows = rowsOf(shape, wanted, setsOf(shape));
  for (std::size_t i = 0; i < kMaps; i++) {
    if (infoOf(found.fd(i)).max_entries != rows.at(i)) return std::nullopt;
  }
  return found;
}

void FilterMaps::pin(const std::string& directory) const {
  const auto pinAs = [&](int fd, const std::string& name) {
    const int error = bpf_obj_pin(fd, (directory + "/" + name).c_str());
    if (error != 0) throw failed("pin " + directory + "/" + name, -error);
  };
  for (std::size_t i = 0; i < kMaps; i++) pinAs(fd(i), kNames.at(i));
  pinAs(stats_.get(), kStatsName);
  pinAs(namedSets_.get(), kNamedSetsName);
}

filter_stats FilterMaps::stats() const {
  constexpr std::size_t kWords = sizeof(filter_stats) / sizeof(__u64);
  std::vector<filter_stats> ofCpus(cpus());
  const __u32 slot = 0;
  filter_stats sum{};
  if (bpf_map_lookup_elem(stats_.get(), &slot, ofCpus.data()) != 0) return sum;
  auto* to = reinterpret_cast<__u64*>(&sum);
  for (const filter_stats& one : ofCpus) {
    const auto* from = reinterpret_cast<const __u64*>(&one);
    for (std::size_t i = 0; i < kWords; i++) to[i] += from[i];
  }
  return sum;
}

void rotateCookieKey(const FilterMaps& maps) {
  const __u32 next = 1 - maps.head().cookie_key;
  makeKey(maps.head().cookie_keys[next]);
  __atomic_store_n(&maps.head().cookie_key, next, __ATOMIC_RELEASE);
}

}  // namespace floodwall
