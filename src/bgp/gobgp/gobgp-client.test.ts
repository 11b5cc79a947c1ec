import { describe, expect, test } from "bun:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { blackhole, flow, INSTANCE, toPath } from "../../../test/fixtures/bgp/bgp.ts";
import { communitiesOf, prefix } from "../../../test/fixtures/networks.ts";
import { COMMUNITIES_MAX } from "../../limits.ts";
import type { Route } from "../../mitigation/announcer.ts";
import { sortedCommunities } from "../../net/community.ts";
import { exactly } from "../../net/range.ts";
import type { EncodedMessage } from "../encoded-message.ts";
import { markOf } from "../neighbor-mark.ts";
import { familyNumbers, type RouteFamily } from "../route-family.ts";
import { attributesOf, keyOf, sendable, toOwnPath, toPaths, toWithdrawal } from "../route-path.ts";
import type { ListedPath, PathChange } from "../speaker/speaker-client.ts";
import type { GobgpApi } from "./gobgp-api.ts";
import { STREAM_MESSAGE_BYTES_MAX, streamMessages } from "./gobgp-client.ts";
import { gobgp3Api } from "./gobgp3-api.ts";
import { gobgp4Api } from "./gobgp4-api.ts";
import { MultiProtocolCapabilitySchema } from "./proto/gobgp_pb.ts";
import { AddPathStreamRequestSchema as AddPaths3, PeerSchema as Peer3 } from "./proto/gobgp3_pb.ts";
import { AddPathStreamRequestSchema as AddPaths4, CapabilitySchema, PeerSchema as Peer4 } from "./proto/gobgp4_pb.ts";

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
  communities: communitiesOf(
    ...Array.from({ length: COMMUNITIES_MAX }, (_, i) => `4294967295:4294967295:${4_294_967_000 + i}`),
  ),
  localPref: 7,
};
/** Each message that a community may be in, and the edges of its numbers. */
const everyForm = communitiesOf(
  ...["0:0", "65535:65535", "0:0:0", "4294967295:4294967295:4294967295", "1179408203:1:2", "1179408205:1:2"],
  ...["rt:0:0", "rt:65535:4294967295", "soo:65536:65535", "rt:4294967295:0", "rt:0.0.0.0:0", "soo:255.255.255.255:1"],
  // A small AS number in the form of large ones, communities that do not leave the AS, and forms without parts.
  ...["ext:02020000fde80064", "ext:4004fde849742400", "ext:4102c00002010001", "ext:4202fa56ea000001"],
  ...["ext:030b000000000064", "ext:8006000000000000", "ext:ffffffffffffffff", "ext:0300000000000000"],
);

const pathsOf = (routes: readonly Route[]) => [
  ...toPaths(
    routes.map((route) => sendable(route)),
    INSTANCE,
  ),
];

describe.each(VERSIONS)("in the messages of GoBGP $version", ({ encode, sent }) => {
  test.each<[string, readonly PathChange[]]>([
    ["IPv4", pathsOf(V4.map((text) => blackhole(text)))],
    ["IPv6", pathsOf(V6.map((text) => blackhole(text)))],
    ["all attributes, as long as they get", pathsOf(V6.map((text) => blackhole(text, longest)))],
    ["rules", pathsOf(V4.map((text) => flow(text, { protocols: exactly(17), fragment: true })))],
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
  test("marks of neighbors go among large communities, and are distinguished from an operator's", () => {
    const marks = [markOf("192.0.2.1"), markOf("2001:db8::1")].sort();
    const [change] = toPaths([sendable(blackhole("203.0.113.9/32", { communities: everyForm }), marks)], INSTANCE);
    if (change === undefined || change.attributes === null) throw new Error("no path");
    const [path] = sent([encode(change)], change).paths;
    expect(path?.attributes).toEqual({ ...change.attributes, communities: sortedCommunities(everyForm), marks });
  });

  test.each<[string, Route]>([
    ["an IPv4 route", blackhole("203.0.113.9/32")],
    ["an IPv6 route", blackhole("2001:db8::9/128", { communities: [] })],
    ["a route with all attributes", blackhole("203.0.113.9/32", longest)],
    ["a route with communities of every form", blackhole("203.0.113.9/32", { communities: everyForm })],
    ["a rule with communities of every form", { ...flow("2001:db8::9/128"), communities: everyForm }],
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

/** RFC 4760: the multiprotocol capabilities say which families a neighbor takes, other capabilities nothing of them. */
test.each<[string, (RouteFamily | null)[], RouteFamily[]]>([
  ["no capability", [], ["ipv4-unicast"]],
  ["capabilities of other kinds", [null, null], ["ipv4-unicast"]],
  ["a family besides", [null, "ipv6-unicast"], ["ipv6-unicast"]],
])("a neighbor that announces %s takes %p", (_, announced, families) => {
  const other = create(AnySchema, { typeUrl: "apipb.RouteRefreshCapability" });
  const capabilities = announced.map((family) =>
    family === null ? null : create(MultiProtocolCapabilitySchema, { family: familyNumbers(family) }),
  );
  const packed = capabilities.map((value) => (value === null ? other : anyPack(MultiProtocolCapabilitySchema, value)));
  const tagged = capabilities.map((value) =>
    create(CapabilitySchema, value === null ? {} : { cap: { case: "multiProtocol", value } }),
  );
  const peers = [
    gobgp3Api.toSpeakerPeer(create(Peer3, { state: { remoteCap: packed } })),
    gobgp4Api.toSpeakerPeer(create(Peer4, { state: { remoteCap: tagged } })),
  ];
  expect(peers.map(({ remoteFamilies }) => remoteFamilies)).toEqual([families, families]);
});

test("no paths, no message", () => {
  expect([...streamMessages([], gobgp4Api.encodePath)]).toEqual([]);
});
