// SourceOptions of native.d.ts into an open source.
#pragma once

#include <napi.h>

#include <memory>

#include "engine.h"
#include "supervised_source.h"

namespace floodwall::binding {

/// Throws a Napi::Error on options that do not fit, SourceError when the source cannot be opened.
[[nodiscard]] std::unique_ptr<CaptureSource> openSource(const Napi::Object& options, const EngineOptions& engine,
                                                        const AddShard& addShard);

}  // namespace floodwall::binding
