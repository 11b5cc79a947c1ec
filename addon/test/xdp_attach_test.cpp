// What is said when the kernel does not load a program: the remedy must fit the cause.
#include "xdp_attach.h"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

using namespace floodwall;

TEST_CASE("a missing permission is told as such, with the capabilities to give") {
  std::string text;
  // Capabilities are those of a thread.
  std::thread([&] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> none{};
    REQUIRE(syscall(SYS_capset, &header, none.data()) == 0);
    text = loadRefusal("the XDP counter", EPERM);
  }).join();
  CHECK(text == "no permission to load an XDP program: " + std::string(kPermissionRemedy));
}

TEST_CASE("a process with all permissions is not told to get them") {
  if (geteuid() != 0) {
    MESSAGE("skipped: it takes root");
    return;
  }
  const std::string text = loadRefusal("the XDP counter", EPERM);
  CHECK(text.starts_with("the kernel refused the XDP counter: this process has the capabilities"));
  CHECK(text.find("run as root") == std::string::npos);
}

TEST_CASE("a program that the verifier does not take is no matter of permissions") {
  const std::string text = loadRefusal("the XDP counter", EACCES);
  CHECK(text.starts_with("the kernel refused the XDP counter: its verifier does not take the program"));
  CHECK(text.find("CAP_") == std::string::npos);
  CHECK(text.find("Permission denied") == std::string::npos);
}

TEST_CASE("any other refusal has the kernel's word and what the program needs") {
  CHECK(loadRefusal("the XDP counter", ENOMEM) ==
        "the kernel refused the XDP counter: Cannot allocate memory; it needs Linux 5.18 or later and memory for its "
        "maps");
}
