// An AF_XDP socket on one RX queue with a UMEM of its own: receives, and gives each buffer back at once.
#pragma once

#include <xdp/xsk.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "capture/capture_source.h"
#include "device/network_device.h"

namespace floodwall {

/// Buffers of a queue: as many as its RX ring has places, all in the fill ring at first.
inline constexpr std::uint32_t kXskBuffers = 8192;
/// Bytes of a buffer. Frames of a usual MTU fit into half a page beside the room that the kernel keeps before each.
inline constexpr std::uint32_t kSmallBuffer = 2048, kLargeBuffer = 4096;

/// The kernel's count of frames that reached the queue and not its RX ring.
struct XskDrops {
  std::uint64_t ringFull = 0;
  /// With zero copy the driver's failed attempts, not frames: the NIC counts the frames that are lost then.
  std::uint64_t fillEmpty = 0;
  /// Anything else: frames too long for a buffer.
  std::uint64_t other = 0;
};

/// The driver or kernel cannot do what was requested; something less may work.
class XskRefusal : public SourceError {
 public:
  using SourceError::SourceError;
};

/// Another socket holds the queue.
class XskBusy : public SourceError {
 public:
  using SourceError::SourceError;
};

class XskSocket {
 public:
  struct Options {
    bool zeroCopy;
    /// Frames may span buffers (Linux 6.6).
    bool multiBuffer;
    std::uint32_t bufferBytes;
  };

  /// Throws SourceError, XskRefusal or XskBusy.
  XskSocket(const NetworkDevice& device, std::uint32_t queue, const Options& options);

  [[nodiscard]] int fd() const { return xsk_socket__fd(socket_.get()); }
  /// Hands a batch of waiting frames to the shard. Returns how many buffers they were in; 0 when there was none.
  std::uint32_t receive(Shard& shard);
  /// Any thread.
  [[nodiscard]] XskDrops drops() const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::uint8_t* area) const;
  };
  struct DeleteUmem {
    void operator()(xsk_umem* umem) const { xsk_umem__delete(umem); }
  };
  struct DeleteSocket {
    void operator()(xsk_socket* socket) const { xsk_socket__delete(socket); }
  };

  static std::unique_ptr<std::uint8_t, Unmap> mapArea(std::size_t bytes);
  void registerArea();
  void bind(const NetworkDevice& device, std::uint32_t queue);
  void fillAll();
  std::uint32_t collect(std::uint32_t first, std::uint32_t available, std::span<Frame> frames, std::uint32_t& used);
  void giveBack(std::uint32_t first, std::uint32_t count);

  Options options_;
  std::unique_ptr<std::uint8_t, Unmap> area_;
  xsk_ring_prod fill_{};
  xsk_ring_cons completion_{};
  xsk_ring_cons rx_{};
  std::unique_ptr<xsk_umem, DeleteUmem> umem_;
  std::unique_ptr<xsk_socket, DeleteSocket> socket_;
};

}  // namespace floodwall
