#include "program/bpf_process.h"

#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace floodwall {
namespace {

struct Capability {
  const char* name;
  unsigned bit;
};
constexpr std::array<Capability, 8> kCapabilities = {{{"CAP_NET_ADMIN", CAP_NET_ADMIN},
                                                      {"CAP_NET_RAW", CAP_NET_RAW},
                                                      {"CAP_BPF", CAP_BPF},
                                                      {"CAP_PERFMON", CAP_PERFMON},
                                                      {"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
                                                      {"CAP_IPC_LOCK", CAP_IPC_LOCK},
                                                      {"CAP_SYS_RESOURCE", CAP_SYS_RESOURCE},
                                                      {"CAP_SYS_NICE", CAP_SYS_NICE}}};
constexpr std::array<const char*, 3> kForLoading = {"CAP_NET_ADMIN", "CAP_BPF", "CAP_PERFMON"};

constexpr std::size_t kWarningsMost = 16;
thread_local LibbpfWarnings* collecting = nullptr;

/// libbpf's own format strings.
__attribute__((format(printf, 2, 0))) int collect(libbpf_print_level level, const char* format, va_list arguments) {
  if (collecting == nullptr || level != LIBBPF_WARN) return 0;
  std::array<char, 512> line{};
  const int length = vsnprintf(line.data(), line.size(), format, arguments);
  collecting->add(line.data());
  return length;
}

}  // namespace

void prepareBpf() {
  libbpf_set_print(collect);
  // UMEMs count against the limit unless the process has CAP_IPC_LOCK, maps did before Linux 5.11.
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
}

std::vector<std::string> effectiveCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  std::vector<std::string> names;
  if (syscall(SYS_capget, &header, sets.data()) != 0) return names;
  for (const auto& [name, bit] : kCapabilities) {
    if ((sets.at(bit / 32).effective >> (bit % 32) & 1U) != 0) names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> missingForLoading() {
  const auto there = effectiveCapabilities();
  const auto has = [&](const char* name) { return std::find(there.begin(), there.end(), name) != there.end(); };
  std::vector<std::string> missing;
  if (has("CAP_SYS_ADMIN")) return missing;
  std::copy_if(kForLoading.begin(), kForLoading.end(), std::back_inserter(missing),
               [&](const char* name) { return !has(name); });
  return missing;
}

KernelRelease parseRelease(std::string text) {
  KernelRelease release{.text = std::move(text)};
  // A release that cannot be read does not count as too old.
  if (sscanf(release.text.c_str(), "%u.%u", &release.major, &release.minor) != 2) release.major = ~0U;
  return release;
}

KernelRelease kernelRelease() {
  utsname names{};
  return parseRelease(uname(&names) == 0 ? names.release : "unknown");
}

LibbpfWarnings::LibbpfWarnings() { collecting = this; }

LibbpfWarnings::~LibbpfWarnings() { collecting = nullptr; }

void LibbpfWarnings::add(std::string line) {
  if (lines_.size() < kWarningsMost) lines_.push_back(std::move(line));
}

std::string LibbpfWarnings::failedMap() const {
  constexpr const char* kOpening = "libbpf: map '";
  for (const std::string& line : lines_) {
    if (!line.starts_with(kOpening) || line.find("failed to create") == std::string::npos) continue;
    const std::size_t start = line.find('\'') + 1;
    return line.substr(start, line.find('\'', start) - start);
  }
  return {};
}

}  // namespace floodwall
