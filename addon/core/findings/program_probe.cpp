#include "findings/program_probe.h"

#include <exception>
#include <optional>

#include "capture/mirror_program.h"
#include "filter/filter_program.h"
#include "inline/inline_program.h"

namespace floodwall {
namespace {

/// Any number has the program take samples.
constexpr std::uint32_t kSampleEvery = 256;

void load(const ProgramVariant& variant, ProgramSize* size) {
  if (variant.kind == ProgramKind::mirror) {
    const MirrorProgram program(1, true, size);
    return;
  }
  std::optional<FilterMaps> maps;
  if (variant.kind == ProgramKind::filter || variant.filters) maps.emplace(FilterMaps::create({}));
  if (variant.kind == ProgramKind::filter) {
    const FilterProgram program(*maps, variant.hasFragments, -1, size);
    return;
  }
  const InlineProgram program({.maxHosts = variant.maxHosts,
                               .countOutgoing = variant.countsOutgoing,
                               .sampleEvery = kSampleEvery,
                               .hasFragments = variant.hasFragments,
                               .decapsulated = variant.decapsulated,
                               .filter = maps ? &*maps : nullptr,
                               .isTrial = true,
                               .size = size});
}

}  // namespace

ProgramProbe probeProgram(const ProgramVariant& variant) {
  ProgramProbe probe;
  try {
    load(variant, &probe.size);
    return probe;
  } catch (const std::exception& error) {
    probe.error = error.what();
  }
  try {
    // The verifier's statistics were requested, and then does not name the instruction.
    load(variant, nullptr);
  } catch (const std::exception& error) {
    probe.error = error.what();
  }
  return probe;
}

}  // namespace floodwall
