// dropCapabilities() of native.d.ts.
#pragma once

#include <napi.h>

namespace floodwall::binding {

Napi::Value dropCapabilities(const Napi::CallbackInfo& info);

}  // namespace floodwall::binding
