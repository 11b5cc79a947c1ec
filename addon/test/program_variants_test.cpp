// Whether the kernel at hand takes our programs, in every variant that a configuration can ask for.
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <cstdint>

#include "capture/mirror_program.h"
#include "filter/forward_program.h"
#include "filter_box.h"
#include "inline_box.h"

namespace floodwall::test {
namespace {

/// The verifier gives up at a million, and kernels differ in how far they look: Linux 6.1 looks farthest.
constexpr std::uint32_t kInstructionsMost = 350'000;

std::uint32_t verifiedInstructions(int program) {
  bpf_prog_info info{};
  __u32 length = sizeof info;
  REQUIRE(bpf_obj_get_info_by_fd(program, &info, &length) == 0);
  return info.verified_insns;
}

/// A bit for each option.
void loadInline(const FilterBox& box, unsigned variant) {
  CAPTURE(variant);
  const InlineProgram program({.maxHosts = 16,
                               .countOutgoing = (variant & 1U) != 0,
                               .sampleEvery = (variant & 2U) != 0 ? 100U : 0U,
                               .hasFragments = (variant & 4U) != 0,
                               .decapsulated = (variant & 16U) != 0 ? Encapsulations::all() : Encapsulations(),
                               .filter = (variant & 8U) != 0 ? &box.maps : nullptr});
  CHECK(verifiedInstructions(program.programFd()) < kInstructionsMost);
}

/// Eight of the 32, with that of all options: the first three bits are free, the others follow from them.
bool isOfPairs(unsigned variant) {
  const auto bit = [variant](unsigned i) { return (variant >> i & 1U) != 0; };
  return bit(3) == (bit(0) == bit(1)) && bit(4) == (bit(0) == bit(2));
}

}  // namespace

TEST_CASE("program variants: the mirror program") {
  if (cannotRunXdp("program variants: the mirror program")) return;
  for (const bool takesPieces : {false, true}) {
    CHECK(verifiedInstructions(MirrorProgram(4, takesPieces).programFd()) < kInstructionsMost);
  }
}

TEST_CASE("program variants: the filter, in every variant") {
  if (cannotRunXdp("program variants: the filter")) return;
  const FilterBox box;
  for (const bool hasFragments : {false, true}) {
    CAPTURE(hasFragments);
    CHECK(verifiedInstructions(FilterProgram(box.maps, hasFragments).fd()) < kInstructionsMost);
  }
}

TEST_CASE("program variants: forwarding, and the filter that hands over to it") {
  if (cannotRunXdp("program variants: forwarding")) return;
  const FilterBox box;
  const ForwardMaps maps;
  for (const bool hasFragments : {false, true}) {
    CAPTURE(hasFragments);
    const ForwardProgram forward(maps, {.hasFragments = hasFragments});
    CHECK(verifiedInstructions(forward.fd()) < kInstructionsMost);
    CHECK(verifiedInstructions(FilterProgram(box.maps, hasFragments, forward.callFd()).fd()) < kInstructionsMost);
    const InlineProgram inlined({.maxHosts = 16,
                                 .countOutgoing = true,
                                 .sampleEvery = 100,
                                 .hasFragments = hasFragments,
                                 .filter = &box.maps,
                                 .forwardCall = forward.callFd()});
    CHECK(verifiedInstructions(inlined.programFd()) < kInstructionsMost);
  }
}

TEST_CASE("program variants: the inline counter, in variants that have each two options in every combination") {
  if (cannotRunXdp("program variants: the inline counter")) return;
  const FilterBox box;
  for (unsigned variant = 0; variant < 32; variant++) {
    if (isOfPairs(variant)) loadInline(box, variant);
  }
}

TEST_CASE("program variants: the inline counter, in all others") {
  if (cannotRunXdp("program variants: the inline counter, in all others")) return;
  const FilterBox box;
  for (unsigned variant = 0; variant < 32; variant++) {
    if (!isOfPairs(variant)) loadInline(box, variant);
  }
}

}  // namespace floodwall::test
