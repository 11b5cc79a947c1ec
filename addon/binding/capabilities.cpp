#include "capabilities.h"

#include "arguments.h"
#include "errors.h"
#include "program/capability_drop.h"

namespace floodwall::binding {
namespace {

/// More than there are in Linux.
constexpr std::uint32_t kCapabilitiesMost = 64;

}  // namespace

Napi::Value dropCapabilities(const Napi::CallbackInfo& info) {
  const auto capabilities = uint32sOf(objectArgument(info, 0, "options"), "capabilities", kCapabilitiesMost);
  guarded(info.Env(), [&] { floodwall::dropCapabilities(capabilities); });
  return info.Env().Undefined();
}

}  // namespace floodwall::binding
