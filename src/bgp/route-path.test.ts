import { expect, test } from "bun:test";
import { blackhole, flow, INSTANCE, toPath } from "../../test/fixtures/bgp/bgp.ts";
import { communitiesOf, prefix } from "../../test/fixtures/networks.ts";
import { parseAddress } from "../net/address.ts";
import { exactly } from "../net/range.ts";
import { WITHOUT_INSTANCE } from "./instance.ts";
import { markOf } from "./neighbor-mark.ts";
import { attributesOf, keyOf, routeProblem, toOwnPath, toWithdrawal } from "./route-path.ts";
import type { PathAttributes } from "./speaker/speaker-client.ts";

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
    blackhole(V4, { communities: communitiesOf("0:0", "65535:65535"), localPref: 0xffff_ffff }),
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
    [blackhole(V4, { localPref: -1 }), "invalid local_pref -1"],
    [blackhole(V4, { localPref: 2 ** 32 }), "invalid local_pref 4294967296"],
    [blackhole(V4, { localPref: 1.5 }), "invalid local_pref 1.5"],
  ];
  for (const [route, problem] of problems) expect(routeProblem(route)).toBe(problem);
});

test("compares communities as a set of values", () => {
  const withCommunities = (...texts: string[]) => attributesOf(blackhole(V4, { communities: communitiesOf(...texts) }));
  const attributes = withCommunities("1:2", "rt:65000:100", "blackhole", "4200000000:1:2");
  expect(withCommunities("4200000000:1:2", "65535:666", "ext:0002fde800000064", "1:2", "1:2")).toBe(attributes);
  for (const others of [
    ["1:2", "rt:65000:100", "blackhole"],
    ["1:2", "blackhole", "4200000000:1:2"],
    ["1:2", "soo:65000:100", "blackhole", "4200000000:1:2"],
    ["1:2", "rt:65000:100", "blackhole", "4200000000:1:3"],
  ]) {
    expect(withCommunities(...others)).not.toBe(attributes);
  }
  expect(attributesOf(blackhole(V4, { localPref: 1 }))).not.toBe(attributesOf(blackhole(V4)));
});

test("a path without a community of its route, with one more, or with one that is none of ours is another one", () => {
  const route = blackhole(V4, { communities: communitiesOf("65535:666", "rt:65000:100", "4200000000:1:2") });
  const path = { ...toPath(route, INSTANCE), neighborIp: "" };
  const listed = (changes: Partial<PathAttributes>) =>
    toOwnPath({ ...path, attributes: { ...path.attributes, ...changes } })?.attributes;
  expect(listed({ marks: [markOf("192.0.2.1")] })).toBe(attributesOf(route));
  expect(listed({ rates: [null] })).not.toBe(attributesOf(route));
  for (const [i] of route.communities.entries()) {
    expect(listed({ communities: path.attributes.communities.toSpliced(i, 1) })).not.toBe(attributesOf(route));
  }
  const more = communitiesOf("65535:666", "rt:65000:100", "4200000000:1:2", "4200000000:1:3");
  expect(listed({ communities: more })).not.toBe(attributesOf(route));
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
