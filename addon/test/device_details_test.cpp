#include "device/device_details.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace floodwall;

TEST_CASE("device details: devices for VLANs are counted over the interface that they are on") {
  std::istringstream config(
      "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
      "eth0.100       | 100  | eth0\neth1.7         | 7  | eth1\nuplink         | 200  | eth0\n"
      "eth0.100.8     | 8  | eth0.100\n");
  CHECK(countVlanDevices(config, "eth0") == 2);
  std::istringstream none("");
  CHECK(countVlanDevices(none, "eth0") == 0);
}
