// The rights of this process for BPF on this kernel, and its preparation for them.
#pragma once

#include <string>
#include <vector>

namespace floodwall {

/// Prepares the process for BPF: libbpf's own messages are silenced (errors reach the caller), and the limit of locked
/// memory is raised as far as it goes. Twice is fine.
void prepareBpf();

/// The remedy for EPERM, the same for everything that loads, binds or attaches.
inline constexpr const char* kPermissionRemedy =
    "run as root, or give the service CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_PERFMON";

/// Capabilities that the calling thread has, in its own user namespace: those of them that matter here.
[[nodiscard]] std::vector<std::string> effectiveCapabilities();
/// Those that the loading of an XDP program takes and the calling thread does not have. Empty: it may load.
[[nodiscard]] std::vector<std::string> missingForLoading();

struct KernelRelease {
  /// As uname(2) has it: "6.1.0-18-amd64".
  std::string text;
  unsigned major = 0;
  unsigned minor = 0;

  [[nodiscard]] bool isBefore(unsigned otherMajor, unsigned otherMinor) const noexcept {
    return major < otherMajor || (major == otherMajor && minor < otherMinor);
  }
};

[[nodiscard]] KernelRelease parseRelease(std::string text);
[[nodiscard]] KernelRelease kernelRelease();

/// Collects libbpf's warnings on this thread for as long as it exists. One at a time on a thread.
class LibbpfWarnings {
 public:
  LibbpfWarnings();
  LibbpfWarnings(const LibbpfWarnings&) = delete;
  LibbpfWarnings& operator=(const LibbpfWarnings&) = delete;
  ~LibbpfWarnings();

  /// About a map that could not be made: "map 'buckets': failed to create: …". Empty: none says so.
  [[nodiscard]] std::string failedMap() const;

  void add(std::string line);

 private:
  std::vector<std::string> lines_;
};

}  // namespace floodwall
