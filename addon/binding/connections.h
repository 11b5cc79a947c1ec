// The bound on connections of a listener, as native.d.ts describes it.
#pragma once

#include <napi.h>

namespace floodwall::binding {

/// ConnectionCount.
Napi::Value limitConnections(const Napi::CallbackInfo& info);

}  // namespace floodwall::binding
