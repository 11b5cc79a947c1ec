import { expect, test } from "bun:test";
import { actionText, matchText } from "./rule.ts";

const discard = { action: "discard" } as const;

test.each([
  [{ dst: "192.0.2.1/32", ...discard }, "any protocol, to 192.0.2.1"],
  [
    { dst: "192.0.2.1/32", proto: 17, src_port: 53, packet_length: { min: 1000, max: 1500 }, ...discard },
    "UDP from port 53, 1000 to 1500 bytes, to 192.0.2.1",
  ],
  [
    { proto: 6, tcp_flags: 2, tcp_flags_unset: 16, src: "198.51.100.0/24", ...discard },
    "TCP, with SYN, without ACK, from 198.51.100.0/24, to anyone",
  ],
  [
    {
      dst: "192.0.2.1/32",
      protos: [
        { from: 2, to: 5 },
        { from: 17, to: 17 },
      ],
      ...discard,
    },
    "protocols 2 to 5, UDP, to 192.0.2.1",
  ],
  [
    {
      dst: "192.0.2.1/32",
      proto: 17,
      dst_ports: [
        { from: 0, to: 0 },
        { from: 80, to: 90 },
      ],
      fragment: true,
      ...discard,
    },
    "UDP, to ports 0, 80 to 90, fragments, to 192.0.2.1",
  ],
])("%j", (rule, text) => {
  expect(matchText(rule)).toBe(text);
});

test("its action", () => {
  expect(actionText(discard)).toBe("discard");
  expect(actionText({ action: "rate_limit", rate_bytes: 1_000_000 })).toBe("at most 8.00 Mbit/s");
});
