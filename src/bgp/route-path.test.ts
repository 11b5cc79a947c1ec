import { expect, test } from "bun:test";
import { blackhole, flow, INSTANCE } from "../../test/fixtures/bgp/bgp.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { parseAddress } from "../net/address.ts";
import { exactly } from "../net/range.ts";
import { WITHOUT_INSTANCE } from "./instance.ts";
import { markOf } from "./neighbor-mark.ts";
import {
  attributesOf,
  keyOf,
  PATH_COMMUNITIES_MAX,
  routeProblem,
  toOwnPath,
  toPath,
  toWithdrawal,
} from "./route-path.ts";

const V4 = "203.0.113.9/32";

function nextHop(text: string) {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(text);
  return parsed;
}

test("takes routes of both families, with and without communities and local preference", () => {
  for (const route of [
    blackhole(V4),
    blackhole("2001:db8::9/128"),
    blackhole("0.0.0.0/0"),
    blackhole("::/0"),
    blackhole(V4, { communities: [] }),
    blackhole(V4, { communities: ["0:0", "65535:65535"], localPref: 0xffff_ffff }),
    blackhole(V4, { communities: Array.from({ length: PATH_COMMUNITIES_MAX }, (_, i) => `65001:${i}`) }),
  ]) {
    expect(routeProblem(route)).toBeNull();
  }
});

test("refuses what the speaker would silently turn into something else", () => {
  const problems: readonly [Parameters<typeof routeProblem>[0], string][] = [
    [blackhole(V4, { prefix: { ...prefix(V4), text: "203.0.113.9/33" } }), "invalid prefix 203.0.113.9/33"],
    [blackhole(V4, { prefix: { ...prefix(V4), text: "203.0.113.9/24" } }), "invalid prefix 203.0.113.9/24"],
    [blackhole(V4, { prefix: { ...prefix(V4), text: "host/32" } }), "invalid prefix host/32"],
    [blackhole(V4, { nextHop: nextHop("0.0.0.0") }), "invalid next hop 0.0.0.0"],
    [blackhole("2001:db8::9/128", { nextHop: nextHop("::") }), "invalid next hop ::"],
    [blackhole(V4, { nextHop: nextHop("100::1") }), `next hop 100::1 is not of the family of ${V4}`],
    [blackhole(V4, { communities: ["65536:1"] }), "invalid community 65536:1"],
    [blackhole(V4, { communities: ["1:65536"] }), "invalid community 1:65536"],
    [blackhole(V4, { communities: ["no-export"] }), "invalid community no-export"],
    [blackhole(V4, { communities: ["01:1"] }), "invalid community 01:1"],
    [blackhole(V4, { communities: Array.from({ length: 65 }, () => "1:1") }), "more than 64 communities"],
    [blackhole(V4, { localPref: -1 }), "invalid local_pref -1"],
    [blackhole(V4, { localPref: 2 ** 32 }), "invalid local_pref 4294967296"],
    [blackhole(V4, { localPref: 1.5 }), "invalid local_pref 1.5"],
  ];
  for (const [route, problem] of problems) expect(routeProblem(route)).toBe(problem);
});

test("compares communities as a set", () => {
  const attributes = attributesOf(blackhole(V4, { communities: ["1:2", "65535:666"] }));
  expect(attributesOf(blackhole(V4, { communities: ["65535:666", "1:2", "1:2"] }))).toBe(attributes);
  expect(attributesOf(blackhole(V4, { communities: ["65535:666"] }))).not.toBe(attributes);
  expect(attributesOf(blackhole(V4, { localPref: 1 }))).not.toBe(attributesOf(blackhole(V4)));
});

test("reads marks of neighbors, and no other large community that a policy added", () => {
  const marks = [markOf("192.0.2.1"), markOf("2001:db8::1")].sort();
  const path = toPath(blackhole(V4), INSTANCE);
  const attributes = { ...path.attributes, largeCommunities: ["64500:1:2", ...marks.toReversed()] };
  expect(toOwnPath({ ...path, neighborIp: "", attributes })?.marks).toEqual(marks);
});

test("knows whose a path is by its identifier, if it comes from no neighbor", () => {
  const path = { ...toPath(blackhole(V4), INSTANCE), neighborIp: "" };
  expect(toOwnPath(path)).toMatchObject({ key: V4, instance: INSTANCE });
  expect(toOwnPath({ ...path, neighborIp: "<nil>" })?.key).toBe(V4);
  expect(toOwnPath({ ...path, neighborIp: "192.0.2.5" })).toBeNull();
  // Of builds before instances: "FLWL".
  expect(toOwnPath({ ...path, identifier: 0x464c574c })?.instance).toBe(WITHOUT_INSTANCE);
  for (const identifier of [0, 0x45ffffff, 0x47000000]) expect(toOwnPath({ ...path, identifier })).toBeNull();
});

test("a withdrawal names one path and no other", () => {
  const { attributes: _, ...name } = toPath(blackhole("2001:db8::9/128"), INSTANCE);
  expect(toWithdrawal("2001:db8::9/128", INSTANCE)).toEqual({ ...name, attributes: null });
  const rule = flow("2001:db8::9/128", { protocols: exactly(17) });
  const { attributes: __, ...named } = toPath(rule, INSTANCE);
  expect(toWithdrawal(keyOf(rule), INSTANCE)).toEqual({ ...named, attributes: null });
});
