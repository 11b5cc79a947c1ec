// Datagrams of about fifty devices, as they came from the wire: each decodes, or what was not understood is named.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const std::filesystem::path kFolder = "../shared/captures/flows";

/// Files of one exporter in the order in which it sent them, and what is in them. Bytes are those of layer 3, as the
/// exporters count them.
struct Expected {
  std::vector<const char*> files;
  std::size_t records;
  std::uint64_t packets;
  std::uint64_t bytes;
  const char* undecoded = "";
};

const Expected kExpected[] = {
    {{"ipfix.dat"}, 12, 54, 13279},
    {{"ipfix_test_juniper_mx240_junos151r6s3_opttpl512.dat", "ipfix_test_juniper_mx240_junos151r6s3_data512.dat"},
     0,
     0,
     0},
    {{"ipfix_test_mikrotik_tpl.dat", "ipfix_test_mikrotik_data258.dat", "ipfix_test_mikrotik_data259.dat"},
     46,
     253,
     103235},
    {{"ipfix_test_netscaler_tpl.dat", "ipfix_test_netscaler_data.dat"},
     3,
     5,
     3106,
     "template 280 of domain 0 unknown x1"},
    {{"ipfix_test_openbsd_pflow_tpl.dat", "ipfix_test_openbsd_pflow_data.dat"}, 26, 209, 99323},
    {{"ipfix_test_yaf_tpl45841.dat", "ipfix_test_yaf_data45841.dat"}, 2, 4, 332},
    {{"ipfix_test_yaf_tpls_option_tpl.dat", "ipfix_test_yaf_data45873.dat", "ipfix_test_yaf_data53248.dat"}, 2, 6, 264},
    {{"netflow5.dat"}, 30, 230, 18684},
    {{"netflow5_test_invalid01.dat"}, 0, 0, 0, "datagram of version 5 and 1464 bytes has count or length 55582 x1"},
    {{"netflow5_test_invalid02.dat"}, 0, 0, 0, "datagram of version 5 and 1464 bytes has count or length 163 x1"},
    {{"netflow5_test_juniper_mx80.dat"}, 29, 31, 3989},
    {{"netflow5_test_microtik.dat"}, 30, 160, 40812},
    {{"netflow9_cisco_asr1001x_tpl259.dat"}, 25, 124, 38255},
    {{"netflow9_test_0length_fields_tpl_data.dat"}, 5, 5, 160},
    {{"netflow9_test_cisco_aci_tpl256-258.dat", "netflow9_test_cisco_aci_data256.dat"}, 3, 6, 297},
    {{"netflow9_test_cisco_asa_1_tpl.dat", "netflow9_test_cisco_asa_1_data.dat"}, 14, 14, 888},
    {{"netflow9_test_cisco_asa_2_tpl_26x.dat", "netflow9_test_cisco_asa_2_tpl_27x.dat",
      "netflow9_test_cisco_asa_2_data.dat"},
     16,
     56,
     65603},
    {{"netflow9_test_cisco_asr9k_opttpl256.dat", "netflow9_test_cisco_asr9k_data256.dat",
      "netflow9_test_cisco_asr9k_opttpl257.dat", "netflow9_test_cisco_asr9k_opttpl334.dat",
      "netflow9_test_cisco_asr9k_tpl260.dat", "netflow9_test_cisco_asr9k_tpl266.dat",
      "netflow9_test_cisco_asr9k_data260.dat"},
     21,
     531,
     208031},
    {{"netflow9_test_fortigate_fortios_521_tpl.dat", "netflow9_test_fortigate_fortios_521_data256.dat",
      "netflow9_test_fortigate_fortios_521_data257.dat"},
     1,
     3,
     152},
    {{"netflow9_test_fortigate_fortios_542_appid_tpl258-269.dat",
      "netflow9_test_fortigate_fortios_542_appid_data258_262.dat"},
     17,
     105,
     29492},
    {{"netflow9_test_h3c_tpl3281.dat", "netflow9_test_h3c_data3281.dat"}, 16, 6113, 8729687},
    {{"netflow9_test_h3c_netstream_varstring_tpl3281.dat", "netflow9_test_h3c_netstream_varstring_data3281.dat"},
     1,
     9,
     702},
    {{"netflow9_test_huawei_netstream_tpl.dat", "netflow9_test_huawei_netstream_data.dat"}, 1, 4, 200},
    {{"netflow9_test_invalid01.dat"}, 2, 2, 194},
    {{"netflow9_test_iptnetflow_reduced_size_encoding_tpldata260.dat"},
     12,
     74,
     7598,
     "template 259 of domain 0 unknown x5; template 262 of domain 0 unknown x1"},
    {{"netflow9_test_juniper_srx_tplopt.dat"}, 0, 0, 0},
    {{"netflow9_test_nprobe_tpl.dat", "netflow9_test_nprobe_data.dat"}, 1, 2, 200},
    {{"netflow9_test_nprobe_dpi.dat"}, 1, 1, 82},
    {{"netflow9_test_softflowd_tpl_data.dat"}, 7, 13, 1128},
    {{"netflow9_test_valid01.dat"}, 7, 13, 1128},
};

Bytes contentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Several datagrams in a row are distinguished by what their headers say, where they do.
std::size_t lengthOf(const Bytes& bytes, std::size_t at) {
  const std::size_t left = bytes.size() - at;
  if (left < 4) return left;
  const std::size_t version = big16(&bytes[at]), second = big16(&bytes[at + 2]);
  const std::size_t said = version == 5 ? 24 + 48 * second : version == 10 ? second : left;
  return said == 0 ? left : std::min(said, left);
}

Received receivedFrom(const std::vector<const char*>& files) {
  Received received;
  std::uint64_t nowMs = kFlowNowMs;
  for (const char* const name : files) {
    const Bytes bytes = contentOf(kFolder / name);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t length = lengthOf(bytes, at);
      received.feed(
          {bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + length)},
          nowMs);
      at += length;
    }
  }
  // So that what waits for a template is given up.
  received.feed(ipfix({.domain = 0xffffffff}, {}), nowMs + 60'000);
  return received;
}

}  // namespace

TEST_CASE("flow captures: every device's records decode, and what does not is named") {
  if (!std::filesystem::exists(kFolder)) {
    std::printf("skipped: flow captures (%s is not there)\n", kFolder.c_str());
    return;
  }
  std::set<std::string> known;
  for (const Expected& expected : kExpected) {
    for (const char* const name : expected.files) known.insert(name);
    CAPTURE(expected.files.back());
    const Received received = receivedFrom(expected.files);
    std::uint64_t packets = 0, bytes = 0;
    for (const FlowRecord& record : received.records) {
      packets += record.packets;
      bytes += record.bytes - 14 * record.packets;
    }
    CHECK(received.records.size() == expected.records);
    CHECK(packets == expected.packets);
    CHECK(bytes == expected.bytes);
    CHECK(received.undecoded() == expected.undecoded);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    CAPTURE(entry.path());
    CHECK(known.contains(entry.path().filename().string()));
  }
}
