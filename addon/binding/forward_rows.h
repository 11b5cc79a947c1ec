// Forwarding in native.d.ts, to and from the core's types.
#pragma once

#include <napi.h>

#include <optional>
#include <vector>

#include "filter/forwarder.h"

namespace floodwall::binding {

/// The ForwardOptions; absent for null.
[[nodiscard]] std::optional<std::vector<ForwardTunnel>> forwardOf(const Napi::Object& options, const char* key);
[[nodiscard]] Napi::Value forwardObject(const Napi::Env& env, const forward_stats& stats);

}  // namespace floodwall::binding
