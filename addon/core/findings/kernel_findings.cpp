#include "findings/kernel_findings.h"

#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "program/bpf_process.h"

namespace floodwall {
namespace {

std::optional<std::string> lineOf(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint32_t> numberIn(const char* path) {
  const auto line = lineOf(path);
  std::uint32_t number = 0;
  if (!line || std::from_chars(line->data(), line->data() + line->size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

/// "[none] integrity confidentiality": the one in brackets.
std::optional<std::string> lockdown() {
  const auto line = lineOf("/sys/kernel/security/lockdown");
  if (!line) return std::nullopt;
  const std::size_t open = line->find('[');
  const std::size_t close = line->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return line->substr(open + 1, close - open - 1);
}

std::optional<std::uint64_t> lockedBytesMost() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

KernelFindings readKernel(const std::string& pinPath) {
  prepareBpf();
  KernelFindings found;
  found.release = kernelRelease().text;
  found.hasBtf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  if (const auto jit = numberIn("/proc/sys/net/core/bpf_jit_enable")) found.isJitOn = *jit != 0;
  found.lockdown = lockdown();
  found.lockedBytesMost = lockedBytesMost();
  found.capabilities = effectiveCapabilities();
  found.missingForLoading = missingForLoading();
  found.possibleCpus = static_cast<std::uint32_t>(std::max(1, libbpf_num_possible_cpus()));
  if (!pinPath.empty()) found.pinPath = PinDirectory::findingsOf(pinPath);
  return found;
}

}  // namespace floodwall
