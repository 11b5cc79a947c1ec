// The core's findings about this machine, as the objects of native.d.ts.
#pragma once

#include <napi.h>

namespace floodwall::binding {

/// Promise of a ProgramProbe.
Napi::Value probeProgram(const Napi::CallbackInfo& info);
/// Promise of InterfaceFindings, or of null.
Napi::Value readInterface(const Napi::CallbackInfo& info);
/// KernelFindings.
Napi::Value readKernel(const Napi::CallbackInfo& info);

}  // namespace floodwall::binding
