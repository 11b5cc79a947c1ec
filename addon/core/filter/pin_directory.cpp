#include "filter/pin_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "filter/filter_maps.h"
#include "filter_abi.h"
#include "forward_abi.h"

namespace floodwall {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMountPoint = "/sys/fs/bpf";
constexpr long kBpfMagic = 0xcafe4a11;

bool isOnBpf(const fs::path& path) {
  struct statfs info {};
  return statfs(path.c_str(), &info) == 0 && info.f_type == kBpfMagic;
}

/// The path itself or the nearest directory above it that exists.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

void requireBpf(const std::string& path) {
  if (isOnBpf(existing(path))) return;
  const std::string remedy = "mount one with `mount -t bpf bpf " + std::string(kMountPoint) +
                             "`, or set dataplane.pin_path to a directory on one";
  if (!path.starts_with(std::string(kMountPoint) + "/")) {
    throw FilterError(path + " is not on a BPF file system: " + remedy);
  }
  if (mount("bpf", kMountPoint, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") != 0) {
    throw FilterError("cannot mount the BPF file system at " + std::string(kMountPoint) + ": " + strerror(errno) +
                      "; " + remedy);
  }
}

void makeDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw FilterError("cannot make " + path + ": " + error.message());
}

/// A pin that cannot be removed keeps memory, no more.
void removeDirectory(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
}

std::vector<std::string> namesIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool isPlain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
}

}  // namespace

PinDirectory::PinDirectory(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  requireBpf(path_);
  makeDirectory(linksIn(path_));
  lock_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_) throw FilterError("cannot open " + path_ + ": " + strerror(errno));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return;
  throw FilterError("another floodwall process keeps its filter in " + path_ +
                    ": stop it, or give this one its own dataplane.pin_path");
}

PinPathFindings PinDirectory::findingsOf(const std::string& path) {
  const fs::path found = existing(path);
  return {.existing = found.string(), .isOnBpfFileSystem = isOnBpf(found)};
}

std::string PinDirectory::mapsIn(const std::string& path) { return path + "/v" + std::to_string(FILTER_SCHEMA); }
std::string PinDirectory::forwardIn(const std::string& path) {
  return path + "/forward/" + std::to_string(FORWARD_SCHEMA);
}
std::string PinDirectory::maps() const { return mapsIn(path_); }

std::string PinDirectory::link(const std::string& interface) const {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string name;
  for (const char letter : interface) {
    if (isPlain(letter)) {
      name += letter;
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      name += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return linksIn(path_) + "/" + name;
}

std::string PinDirectory::interfaceOfLink(const std::string& fileName) {
  std::string name;
  for (std::size_t i = 0; i < fileName.size(); i++) {
    if (fileName[i] != '%' || i + 2 >= fileName.size()) {
      name += fileName[i];
      continue;
    }
    name += static_cast<char>(std::strtol(fileName.substr(i + 1, 2).c_str(), nullptr, 16));
    i += 2;
  }
  return name;
}

std::vector<std::string> PinDirectory::links() const {
  std::vector<std::string> names = namesIn(linksIn(path_));
  for (std::string& name : names) name = interfaceOfLink(name);
  return names;
}

std::vector<std::string> PinDirectory::schemasIn(const std::string& path) {
  std::vector<std::string> names = namesIn(path);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with('v'); });
  return names;
}

void PinDirectory::beginNext() const {
  removeDirectory(nextMaps());
  makeDirectory(nextMaps());
}

void PinDirectory::promoteNext() const {
  removeMaps();
  std::error_code error;
  fs::rename(nextMaps(), maps(), error);
  if (error) throw FilterError("cannot rename " + nextMaps() + " to " + maps() + ": " + error.message());
}

std::string PinDirectory::makeForward() const {
  makeDirectory(forwardIn(path_));
  return forwardIn(path_);
}

void PinDirectory::removeForward() const { removeDirectory(path_ + "/forward"); }

void PinDirectory::removeMaps() const {
  for (const std::string& schema : schemas()) removeDirectory(path_ + "/" + schema);
}

}  // namespace floodwall
