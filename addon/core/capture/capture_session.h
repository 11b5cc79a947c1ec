// One opened stretch of a source: from the moment an interface could be opened until it is lost or closed. The source
// outlives its sessions, see supervised_source.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/capture_source.h"

namespace floodwall {

struct SessionHealth {
  /// `impaired`: nothing can arrive now, but the session goes on by itself when the cause goes (a link that is down).
  /// `lost`: only opening it again helps.
  enum class Kind : std::uint8_t { good, impaired, lost } kind = Kind::good;
  /// Names interface, cause and remedy, unless good.
  std::string error;
};

class CaptureSession {
 public:
  CaptureSession() = default;
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;
  /// Detaches, joins the workers and frees all.
  virtual ~CaptureSession() = default;

  [[nodiscard]] virtual std::string mode() const = 0;
  /// Called about once a second. Throws when the kernel does not answer.
  [[nodiscard]] virtual SessionHealth health() = 0;
  /// Drops since the session began, by queue; `shard` is left to the source.
  [[nodiscard]] virtual std::vector<QueueStats> drops() const = 0;
};

}  // namespace floodwall
