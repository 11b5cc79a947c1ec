import { describe, expect, test } from "bun:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { blackhole, flow, INSTANCE } from "../../../test/fixtures/bgp/bgp.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import type { Route } from "../../mitigation/announcer.ts";
import { exactly } from "../../net/range.ts";
import type { EncodedMessage } from "../encoded-message.ts";
import type { RouteFamily } from "../route-family.ts";
import { attributesOf, keyOf, PATH_COMMUNITIES_MAX, toOwnPath, toPath, toPaths, toWithdrawal } from "../route-path.ts";
import type { ListedPath, PathChange } from "../speaker/speaker-client.ts";
import type { GobgpApi } from "./gobgp-api.ts";
import { STREAM_MESSAGE_BYTES_MAX, streamMessages } from "./gobgp-client.ts";
import { gobgp3Api } from "./gobgp3-api.ts";
import { gobgp4Api } from "./gobgp4-api.ts";
import { AddPathStreamRequestSchema as AddPaths3 } from "./proto/gobgp3_pb.ts";
import { AddPathStreamRequestSchema as AddPaths4 } from "./proto/gobgp4_pb.ts";

const V4 = Array.from({ length: 1000 }, (_, i) => `10.0.${i >> 8}.${i & 255}/32`);
const V6 = Array.from({ length: 1000 }, (_, i) => `2001:db8:ffff:ffff:ffff:ffff:ffff:${(0xf000 + i).toString(16)}/128`);

/** A message of encoded paths: its length, and what the speaker reads from it. */
interface Sent {
  readonly bytes: number;
  readonly isGlobal: boolean;
  readonly paths: readonly SentPath[];
}

type SentPath = ListedPath & { readonly isWithdraw: boolean };

function sent3(encoded: EncodedMessage[], { family }: PathChange): Sent {
  const bytes = toBinary(AddPaths3, gobgp3Api.addPathsRequest(encoded));
  const { tableType, paths } = fromBinary(AddPaths3, bytes);
  const isGlobal = tableType === gobgp3Api.tables.global;
  return { bytes: bytes.length, isGlobal, paths: paths.map((path) => sentPath(gobgp3Api, path, family)) };
}

function sent4(encoded: EncodedMessage[], { family }: PathChange): Sent {
  const bytes = toBinary(AddPaths4, gobgp4Api.addPathsRequest(encoded));
  const { tableType, paths } = fromBinary(AddPaths4, bytes);
  const isGlobal = tableType === gobgp4Api.tables.global;
  return { bytes: bytes.length, isGlobal, paths: paths.map((path) => sentPath(gobgp4Api, path, family)) };
}

function sentPath<Path extends { isWithdraw: boolean }>(
  api: Pick<GobgpApi<Path, unknown, unknown>, "toListedName" | "toAttributes">,
  path: Path,
  family: RouteFamily,
): SentPath {
  const name = api.toListedName(path, family);
  if (name === null) throw new Error("a path of no kind of ours");
  return { ...name, attributes: api.toAttributes(path), isWithdraw: path.isWithdraw };
}

const VERSIONS = [
  { version: 3, encode: gobgp3Api.encodePath, sent: sent3 },
  { version: 4, encode: gobgp4Api.encodePath, sent: sent4 },
] as const;

const longest = {
  communities: Array.from({ length: PATH_COMMUNITIES_MAX }, (_, i) => `65535:${65_000 + i}`),
  localPref: 7,
};

describe.each(VERSIONS)("in the messages of GoBGP $version", ({ encode, sent }) => {
  test.each<[string, readonly PathChange[]]>([
    [
      "IPv4",
      [
        ...toPaths(
          V4.map((text) => blackhole(text)),
          INSTANCE,
        ),
      ],
    ],
    [
      "IPv6",
      [
        ...toPaths(
          V6.map((text) => blackhole(text)),
          INSTANCE,
        ),
      ],
    ],
    [
      "all attributes, as long as they get",
      [
        ...toPaths(
          V6.map((text) => blackhole(text, longest)),
          INSTANCE,
        ),
      ],
    ],
    [
      "rules",
      [
        ...toPaths(
          V4.map((text) => flow(text, { protocols: exactly(17), fragment: true })),
          INSTANCE,
        ),
      ],
    ],
    ["withdrawals", V6.map((key) => toWithdrawal(key, INSTANCE))],
  ])("paths keep their order in messages that are full and not too long: %s", (_, changes) => {
    const [first] = changes;
    if (first === undefined) throw new Error("no paths");
    const messages = [...streamMessages(changes, encode)].map((part) => sent(part, first));
    const names = messages.flatMap(({ paths }) => paths).map(({ family, nlri }) => ({ family, nlri }));
    expect(names).toEqual(changes.map(({ family, nlri }) => ({ family, nlri })));
    for (const { bytes, isGlobal } of messages) {
      expect(bytes).toBeLessThanOrEqual(STREAM_MESSAGE_BYTES_MAX);
      expect(isGlobal).toBe(true);
    }
    for (const { bytes } of messages.slice(0, -1)) expect(bytes).toBeGreaterThan(0.95 * STREAM_MESSAGE_BYTES_MAX);
  });

  const every = {
    source: prefix("198.51.100.0/24"),
    protocol: 6,
    sourcePorts: [{ from: 53, to: 53 }],
    destinationPorts: [{ from: 1, to: 65_534 }],
    tcpFlags: { set: 2, unset: 16 },
    fragment: true,
    packetLengths: [{ from: 40, to: 60 }],
  };
  test.each<[string, Route]>([
    ["an IPv4 route", blackhole("203.0.113.9/32")],
    ["an IPv6 route", blackhole("2001:db8::9/128", { communities: [] })],
    ["a route with all attributes", blackhole("203.0.113.9/32", longest)],
    ["a rule with every component", flow("203.0.113.9/32", every)],
    ["a rule with a rate", flow("2001:db8::9/128", { action: { kind: "rate_limit", bytesPerSecond: 125_000 } })],
  ])("%s arrives with its attributes, and its withdrawal names it", (_, route) => {
    const change = toPath(route, INSTANCE);
    const { paths } = sent([encode(change)], change);
    expect(paths).toEqual([{ ...change, neighborIp: "", isWithdraw: false }]);
    expect(paths.map((path) => toOwnPath(path))).toEqual([
      { instance: INSTANCE, key: keyOf(route), attributes: attributesOf(route), marks: [] },
    ]);

    const withdrawal = toWithdrawal(keyOf(route), INSTANCE);
    const [withdrawn] = sent([encode(withdrawal)], withdrawal).paths;
    expect(withdrawn).toMatchObject({ nlri: change.nlri, identifier: change.identifier, isWithdraw: true });
  });
});

test("no paths, no message", () => {
  expect([...streamMessages([], gobgp4Api.encodePath)]).toEqual([]);
});
