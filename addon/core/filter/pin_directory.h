// The directory on a BPF file system that keeps the filter beyond its process, and the lock that keeps a second process
// out of it. Knows names, not what is pinned under them.
//
//   v2/        the maps of schema 2        next/   maps that are not in force yet
//   links/     one link for each interface
//   forward/1/ what forwards, of its own schema 1
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace floodwall {

struct PinPathFindings {
  /// The path itself or the nearest directory above it that exists.
  std::string existing;
  bool isOnBpfFileSystem = false;
};

class PinDirectory {
 public:
  /// Makes it, mounts the BPF file system at /sys/fs/bpf where it is missing, and takes the lock. Throws FilterError.
  explicit PinDirectory(std::string path);

  [[nodiscard]] std::string maps() const;
  [[nodiscard]] std::string nextMaps() const { return path_ + "/next"; }
  /// File names there cannot have dots; interfaces can.
  [[nodiscard]] std::string link(const std::string& interface) const;
  [[nodiscard]] std::vector<std::string> links() const;

  /// An empty directory for the next maps.
  void beginNext() const;
  /// Puts them in place of all other maps, of this schema and others.
  void promoteNext() const;
  void removeMaps() const;
  /// An empty directory for what forwards; its path.
  [[nodiscard]] std::string makeForward() const;
  void removeForward() const;
  /// The schemas whose maps are pinned, as their directories are called.
  [[nodiscard]] std::vector<std::string> schemas() const { return schemasIn(path_); }

  /// Where a path lies, without making anything.
  [[nodiscard]] static PinPathFindings findingsOf(const std::string& path);

  void unlock() noexcept { lock_ = UniqueFd(); }

  [[nodiscard]] static std::vector<std::string> schemasIn(const std::string& path);
  [[nodiscard]] static std::string mapsIn(const std::string& path);
  [[nodiscard]] static std::string forwardIn(const std::string& path);
  [[nodiscard]] static std::string linksIn(const std::string& path) { return path + "/links"; }
  [[nodiscard]] static std::string interfaceOfLink(const std::string& fileName);

 private:
  std::string path_;
  UniqueFd lock_;
};

}  // namespace floodwall
