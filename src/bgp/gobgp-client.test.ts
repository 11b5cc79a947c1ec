import { expect, test } from "bun:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { blackhole } from "../../test/fixtures/bgp.ts";
import { STREAM_MESSAGE_BYTES_MAX, streamMessages } from "./gobgp-client.ts";
import { AddPathStreamRequestSchema, type Path } from "./proto/gobgp3/gobgp_pb.ts";
import { COMMUNITIES_MAX, toPaths, toWithdrawal } from "./route-path.ts";

const V4 = Array.from({ length: 1000 }, (_, i) => `10.0.${i >> 8}.${i & 255}/32`);
const V6 = Array.from({ length: 1000 }, (_, i) => `2001:db8:ffff:ffff:ffff:ffff:ffff:${(0xf000 + i).toString(16)}/128`);

function messageBytes(paths: Path[]): number {
  return toBinary(AddPathStreamRequestSchema, create(AddPathStreamRequestSchema, { paths })).length;
}

test.each([
  ["IPv4", [...toPaths(V4.map((text) => blackhole(text)))]],
  ["IPv6", [...toPaths(V6.map((text) => blackhole(text)))]],
  [
    "all attributes, as long as they get",
    [
      ...toPaths(
        V6.map((text) =>
          blackhole(text, {
            communities: Array.from({ length: COMMUNITIES_MAX }, (_, i) => `65535:${65_000 + i}`),
            localPref: 0xffff_ffff,
          }),
        ),
      ),
    ],
  ],
  ["withdrawals", V6.map(toWithdrawal)],
])("paths keep their order in messages that are full and not too long: %s", (_, paths) => {
  const messages = [...streamMessages(paths)];
  expect(messages.flat()).toEqual(paths);
  for (const message of messages) expect(messageBytes(message)).toBeLessThanOrEqual(STREAM_MESSAGE_BYTES_MAX);
  for (const message of messages.slice(0, -1)) {
    expect(messageBytes(message)).toBeGreaterThan(0.85 * STREAM_MESSAGE_BYTES_MAX);
  }
});

test("no paths, no message", () => {
  expect([...streamMessages([])]).toEqual([]);
});
