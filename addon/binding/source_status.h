// A SourceStatus as the object of native.d.ts.
#pragma once

#include <napi.h>

#include "capture/capture_source.h"

namespace floodwall::binding {

[[nodiscard]] Napi::Object statusObject(const Napi::Env& env, const SourceStatus& status);

}  // namespace floodwall::binding
