// What is taken from the verifier's log: its last words, and how much work it had.
#include "program/verifier_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace floodwall;

namespace {

// As Linux 6.1 writes it.
constexpr const char* kLog = R"(; __u8* value = bpf_map_lookup_elem(&values, &slot);
5: (85) call bpf_map_lookup_elem#1    ; R0=map_value_or_null(id=1,off=0,ks=4,vs=64,imm=0)
; if (!value) return XDP_PASS;
6: (15) if r0 == 0x0 goto pc+5        ; R0=map_value(off=0,ks=4,vs=64,imm=0)
; return value[ctx->rx_queue_index] ? XDP_DROP : XDP_PASS;
7: (61) r1 = *(u32 *)(r6 +16)         ; R1_w=scalar(umax=4294967295,var_off=(0x0; 0xffffffff)) R6=ctx(off=0,imm=0)
8: (0f) r0 += r1                      ; R0_w=map_value(off=0,ks=4,vs=64,umax=4294967295)
9: (71) r1 = *(u8 *)(r0 +0)
R0 unbounded memory access, make sure to bounds check any such access
processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 12 peak_states 7 mark_read 0
)";

}  // namespace

TEST_CASE("the reason is the verifier's last words, with the instruction and the source line that they are about") {
  CHECK(reasonIn(kLog) ==
        "R0 unbounded memory access, make sure to bounds check any such access (at instruction 9: (71) r1 = *(u8 "
        "*)(r0 +0), source: return value[ctx->rx_queue_index] ? XDP_DROP : XDP_PASS;)");
}

TEST_CASE("words of several lines come in their order, and no registers with the instruction") {
  const std::string log =
      "12: (71) r1 = *(u8 *)(r0 +8)         ; R0=map_value(off=0,ks=4,vs=4,imm=0) R1=1\n"
      "invalid access to map value, value_size=4 off=8 size=1\n"
      "R0 min value is outside of the allowed memory range\n"
      "processed 12 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"
      "stack depth 8\n";
  CHECK(reasonIn(log) ==
        "invalid access to map value, value_size=4 off=8 size=1; R0 min value is outside of the allowed memory range "
        "(at instruction 12: (71) r1 = *(u8 *)(r0 +8))");
}

TEST_CASE("what the verifier writes of registers and paths are no words") {
  const std::string log =
      "unknown func bpf_xdp_get_buff_len#188\n"
      "from 3 to 7: R0=inv1 R10=fp0\n"
      "7: R0=inv1\n"
      "R1_w=inv(id=0)\n";
  CHECK(reasonIn(log) == "unknown func bpf_xdp_get_buff_len#188");
}

TEST_CASE("a program that is too large has its reason without an instruction") {
  const std::string log = "BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns (limit 1000000)\n";
  CHECK(reasonIn(log) == "BPF program is too large. Processed 1000001 insn");
}

TEST_CASE("a log without words gives no reason") {
  CHECK(reasonIn("").empty());
  CHECK(reasonIn("\n\n").empty());
  CHECK(reasonIn("processed 12 insns (limit 1000000) total_states 0 peak_states 0\n").empty());
}

TEST_CASE("a reason is one bounded line of printable text, however long the log") {
  std::string log;
  for (int i = 0; i < 100'000; i++) log += std::to_string(i) + ": (b7) r0 = 0\n";
  log += "bad " + std::string(10 * kReasonBytes, 'x') + "\x01\t\n";
  const std::string reason = reasonIn(log);
  CHECK(reason.size() == kReasonBytes);
  CHECK(reason.starts_with("bad xxx"));
  CHECK(std::all_of(reason.begin(), reason.end(), [](char letter) { return letter >= ' ' && letter <= '~'; }));
  CHECK(reasonIn("bad\x01word\n") == "bad?word");
}

TEST_CASE("the work of the verifier is read from its statistics") {
  const auto work = workIn(kLog);
  REQUIRE(work);
  CHECK(work->processed == 9);
  CHECK(work->totalStates == 12);
  CHECK(work->peakStates == 7);
  CHECK_FALSE(workIn("R0 unbounded memory access\n"));
}
