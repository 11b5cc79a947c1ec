// Every exception of the core becomes a JavaScript error; none may leave a callback as itself, which ends the process.
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

[[noreturn]] inline void throwClosed(const Napi::Env& env, const char* handle) {
  throw Napi::TypeError::New(env, std::string(handle) + " is closed");
}

}  // namespace floodwall::binding
