// Sends the frames of a capture file out of an interface, for tests: `send_frames DEVICE CAPTURE [TIMES [PAUSE_US]]`.
// Prints how many the device took. Run it inside a network namespace of the test's own.
#include <net/if.h>
#include <netpacket/packet.h>
#include <pcap/pcap.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "send_frames: %s: %s\n", what, why);
  std::exit(1);
}

std::vector<Bytes> readFrames(const char* path) {
  std::array<char, PCAP_ERRBUF_SIZE> message{};
  pcap_t* capture = pcap_open_offline(path, message.data());
  if (capture == nullptr) fail(path, message.data());
  std::vector<Bytes> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (pcap_next_ex(capture, &header, &data) == 1) frames.emplace_back(data, data + header->caplen);
  pcap_close(capture);
  return frames;
}

int openDevice(const char* device) {
  const int fd = socket(AF_PACKET, SOCK_RAW, 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(device));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (fd < 0 || address.sll_ifindex == 0 || bind(fd, generic, sizeof address) != 0) fail(device, strerror(errno));
  return fd;
}

/// The queue of the device may be full for a moment: that is not a loss, the frame is sent again.
void sendFrame(int fd, const Bytes& frame) {
  while (send(fd, frame.data(), frame.size(), 0) < 0) {
    if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR) fail("send", strerror(errno));
    usleep(100);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) fail("usage", "send_frames DEVICE CAPTURE [TIMES [PAUSE_US]]");
  const std::vector<Bytes> frames = readFrames(arguments[2]);
  const long times = count > 3 ? std::atol(arguments[3]) : 1;
  const useconds_t pause = count > 4 ? static_cast<useconds_t>(std::atol(arguments[4])) : 0;
  const int fd = openDevice(arguments[1]);
  unsigned long sent = 0;
  for (long i = 0; i < times; i++) {
    for (const Bytes& frame : frames) {
      sendFrame(fd, frame);
      sent++;
      if (pause != 0) usleep(pause);
    }
  }
  std::printf("%lu\n", sent);
  close(fd);
}
