#include "filter/named_sets.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace floodwall {
namespace {

SetNames namesOf(std::span<const NamedPrefixes> sets) {
  SetNames names;
  for (const NamedPrefixes& set : sets) {
    // FilterName ends with a zero.
    if (set.name.empty() || set.name.size() >= sizeof(FilterName) || set.bit >= NAMED_SETS_MAX) {
      throw std::invalid_argument("set \"" + set.name + "\" must have 1 to 63 bytes and one bit of 64");
    }
    if (!names.at(set.bit).empty()) {
      throw std::invalid_argument("sets " + names.at(set.bit) + " and " + set.name + " have the same bit");
    }
    names.at(set.bit) = set.name;
  }
  return names;
}

void write(FilterName& row, const std::string& name) {
  row = {};
  std::copy(name.begin(), name.end(), row.text.begin());
}

}  // namespace

NamedSets::NamedSets(std::span<const NamedPrefixes> sets) : names_(namesOf(sets)) {
  const NamedSetTable table(sets);
  prefixes_ = table.prefixes();
  ranges_ = table.ranges();
  map_ = RowMap(makeSetsTable(static_cast<std::uint32_t>(table.lines().size())), true);
  const auto rows = map_.rows<sets_line>();
  std::copy(table.lines().begin(), table.lines().end(), rows.begin());
  bytes_ = rows.size_bytes();
}

void putNamedSets(const FilterMaps& maps, const NamedSets& sets) {
  const auto rows = maps.setNames();
  // A bit has its name before the first packet is found in the set, and until after the last one.
  for (std::size_t bit = 0; bit < NAMED_SETS_MAX; bit++) {
    if (!sets.names().at(bit).empty()) write(rows[bit], sets.names().at(bit));
  }
  const __u32 slot = 0;
  const int fd = sets.fd();
  if (bpf_map_update_elem(maps.namedSetsFd(), &slot, &fd, BPF_ANY) != 0) {
    throw FilterError(std::string("cannot put the named sets in force: ") + strerror(errno));
  }
  for (std::size_t bit = 0; bit < NAMED_SETS_MAX; bit++) write(rows[bit], sets.names().at(bit));
}

SetNames namesInForce(const FilterMaps& maps) {
  SetNames names;
  for (std::size_t bit = 0; bit < NAMED_SETS_MAX; bit++) {
    const auto& text = maps.setNames()[bit].text;
    names.at(bit).assign(text.begin(), std::find(text.begin(), text.end(), '\0'));
  }
  return names;
}

}  // namespace floodwall
