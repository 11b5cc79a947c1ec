// Turns exceptions into JavaScript errors: a C++ exception that leaves a callback ends the process, and so does a
// method that is called on an object of another class.
#pragma once

#include <napi.h>

#include <stdexcept>
#include <string>

namespace floodwall::binding {

template <typename Call>
auto guarded(const Napi::Env& env, Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::out_of_range& error) {
    throw Napi::RangeError::New(env, error.what());
  } catch (const std::invalid_argument& error) {
    throw Napi::TypeError::New(env, error.what());
  } catch (const std::exception& error) {
    throw Napi::Error::New(env, error.what());
  }
}

/// `engine.stats.call(source)` reaches the wrong class's method with the wrong object: ask before touching it.
inline void requireTag(const Napi::CallbackInfo& info, const napi_type_tag& tag, const char* handle) {
  if (info.This().IsObject() && info.This().As<Napi::Object>().CheckTypeTag(&tag)) return;
  throw Napi::TypeError::New(info.Env(), std::string("this is not the addon's ") + handle);
}

[[noreturn]] inline void throwClosed(const Napi::Env& env, const char* handle) {
  throw Napi::TypeError::New(env, std::string(handle) + " is closed");
}

}  // namespace floodwall::binding
