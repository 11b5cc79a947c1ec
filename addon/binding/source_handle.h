// The Source and Replay of native.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "capture/capture_replay.h"
#include "capture/capture_source.h"

namespace floodwall::binding {

/// A source that its handle and its engine may close; what was closed is null.
struct SourceSlot {
  std::unique_ptr<CaptureSource> source;
};

class SourceHandle : public Napi::ObjectWrap<SourceHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes a std::shared_ptr<SourceSlot>* as an external; not for JavaScript to call.
  explicit SourceHandle(const Napi::CallbackInfo& info);

 private:
  Napi::Value status(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  /// Throws unless `this` is an open source.
  CaptureSource& source(const Napi::CallbackInfo& info) const;

  std::shared_ptr<SourceSlot> slot_;
};

struct ReplaySlot {
  std::unique_ptr<CaptureReplay> replay;
};

class ReplayHandle : public Napi::ObjectWrap<ReplayHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes a std::shared_ptr<ReplaySlot>* as an external.
  explicit ReplayHandle(const Napi::CallbackInfo& info);

 private:
  Napi::Value advance(const Napi::CallbackInfo& info);
  Napi::Value status(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  /// Throws unless `this` is an open replay.
  CaptureReplay& replay(const Napi::CallbackInfo& info) const;

  std::shared_ptr<ReplaySlot> slot_;
};

}  // namespace floodwall::binding
