// SourceOptions of native.d.ts into an open source.
#pragma once

#include <napi.h>

#include <memory>

#include "engine.h"
#include "kernel_filter.h"
#include "supervised_source.h"

namespace floodwall::binding {

/// `filter`: null, or the one that an inline source takes in if it is on the source's interface.
/// Throws a Napi::Error on options that do not fit, SourceError when the source cannot be opened.
[[nodiscard]] std::unique_ptr<CaptureSource> openSource(const Napi::Object& options, const EngineOptions& engine,
                                                        std::shared_ptr<KernelFilter> filter, const AddShard& addShard);

}  // namespace floodwall::binding
