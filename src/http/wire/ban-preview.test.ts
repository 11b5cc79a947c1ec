/** Which neighbors would get what of an order, and why one would get none. */
import { expect, test } from "bun:test";
import { blackhole, flow, neighbor, neighborPolicy, SPEAKER_ASN } from "../../../test/fixtures/bgp/bgp.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { ban } from "../../../test/fixtures/views.ts";
import { NeighborPolicies } from "../../bgp/neighbor-policies.ts";
import type { UnicastRoute } from "../../mitigation/announcer.ts";
import type { Measure } from "../../mitigation/measure.ts";
import { exactly } from "../../net/range.ts";
import type { BgpView } from "../backend.ts";
import { banToWire } from "./ban.ts";
import { orderPreviewToWire } from "./ban-preview.ts";

const [ALL, FEW, NONE] = ["192.0.2.7", "192.0.2.8", "192.0.2.9"].map(address) as [never, never, never];
const neighbors = [
  neighbor({ address: ALL }),
  neighbor({ address: FEW, policy: neighborPolicy({ name: "few", methods: ["flowspec"] }) }),
  neighbor({ address: NONE, policy: neighborPolicy({ name: "none", methods: ["flowspec"] }) }),
];
const policies = new NeighborPolicies({ speaker: "managed", localAsn: SPEAKER_ASN, neighbors, communitiesAt: [] });

function previewOf(measure: Measure, bgp: BgpView | null) {
  const made = { ...ban({ state: "active", prefix: prefix("203.0.113.7/32") }), measure };
  return orderPreviewToWire({
    preview: { ban: made, group: null, isRefresh: false, replaces: [ban({ prefix: prefix("203.0.113.9/32") })] },
    ban: banToWire({ ban: made, routeState: null }),
    effect: { kind: "unknown", reason: "" },
    ...{ bgp, keptFrom: (route) => policies.keptFrom(route) },
  });
}

const BGP = { config: { neighbors }, neighbors: [] } as unknown as BgpView;

function preview(measure: Measure) {
  return previewOf(measure, BGP).neighbors?.map(({ routes, cause }) => [routes.length, cause]);
}

test("the bans of others whose blackhole it replaces are for those who see the neighbors #ban-preview-replaces", () => {
  expect(previewOf({ kind: "none" }, BGP).replaces_blackhole_of).toEqual(["203.0.113.9/32"]);
  expect(previewOf({ kind: "none" }, null).replaces_blackhole_of).toBeUndefined();
});

const NO_SESSION = "no session: unknown";

test("a neighbor that gets all rules has no reason of others, and one that gets none has its own", () => {
  const [first, second, simple] = [{ sourcePorts: exactly(53) }, { packetLengths: exactly(40) }, {}].map(
    (fields) => flow("203.0.113.7/32", fields).rule,
  ) as [never, never, never];
  const neighborRules = [
    { support: "few", neighbors: [FEW], rules: [simple], leftOut: 1 },
    { support: "none", neighbors: [NONE], rules: [], leftOut: 2 },
  ];
  const rules = { rules: [first, second], matchesAll: false, basis: "", localPref: 0 };
  expect(preview({ kind: "flowspec", ...rules, neighborRules })).toEqual([
    [2, NO_SESSION],
    [1, NO_SESSION],
    [0, "its policy allows none of the rules, and no others were found within it"],
  ]);
});

test("a neighbor that gets the prefix itself has not the reason why it gets no wider one", () => {
  const [route, wide] = [blackhole("203.0.113.7/32"), blackhole("203.0.113.0/24", { encloses: 32 })] as UnicastRoute[];
  const [all, few] =
    preview({ kind: "blackhole", route: route as UnicastRoute, enclosing: wide as UnicastRoute }) ?? [];
  expect(all).toEqual([1, NO_SESSION]);
  expect(few).toEqual([0, "its policy few takes no blackhole routes"]);
});
