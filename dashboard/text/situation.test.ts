import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { StatusWire } from "../../src/http/wire/status.ts";
import { LOSS_TOLERATED, type Situation, situationParts } from "./situation.ts";

const ban = { target: "203.0.113.7", prefix: "203.0.113.7/32", state: "active", dry_run: false } as BanWire;
const attack = { target: "203.0.113.7", active: true } as AttackWire;
const other = { target: "203.0.113.8", active: true } as AttackWire;

interface World {
  readonly status?: object;
  readonly active?: readonly AttackWire[];
  readonly bans?: readonly BanWire[];
  readonly loss?: number | null;
}

const CALM = {
  dry_run: false,
  hostgroups: [{ name: "global" }],
  bgp: { connected: true, neighbors: [{ state: "ESTABLISHED" }, { state: "established" }] },
  capture: { interfaces: [{ state: "running" }] },
};

function situationOf({ status = CALM, active = [], bans = [], loss = 0 }: World): Situation {
  return {
    status: { kind: "ready", data: status as StatusWire, atMs: 0 },
    attacks: { kind: "ready", data: { active: [...active], recent: [] }, atMs: 0 },
    bans,
    loss,
    silent: null,
  };
}

function textsOf(world: World): string[] {
  return situationParts(situationOf(world)).map(({ tone, text }) => `${tone}: ${text}`);
}

test.each([
  [{ brains: 1, up: 1, faults: 0 }, "ok: 1 of 1 other brain reached"],
  [{ brains: 1, up: 1, faults: 2 }, "warn: 1 of 1 other brain reached"],
  [{ brains: 2, up: 1, faults: 0 }, "danger: 1 of 2 other brains reached"],
])("a cluster of %j", (cluster, text) => {
  expect(textsOf({ status: { ...CALM, cluster } }).at(-1)).toBe(text);
});

test("all is well", () => {
  expect(textsOf({})).toEqual(["ok: LIVE", "ok: No attack", "ok: BGP: 2 of 2 neighbors up", "ok: Capture loss 0 %"]);
});

test("a live service says which hostgroups are in dry run", () => {
  const hostgroups = ["a", "b", "c", "d"].map((name) => ({ name, dry_run_directions: ["incoming"] }));
  const modeOf = (status: object) => textsOf({ status: { ...CALM, ...status } })[0];
  expect(modeOf({ hostgroups: [...CALM.hostgroups, hostgroups[0]] })).toBe("warn: LIVE, but in dry run: a");
  expect(modeOf({ hostgroups })).toBe("warn: LIVE, but in dry run: a, b, c, …");
  expect(modeOf({ hostgroups, dry_run: true })).toBe("warn: DRY RUN: nothing is announced or dropped");
});

test("attacks of which it is not known whether routers filter are not said to be not stopped", () => {
  const [one, two] = [
    { ...ban, announcement: "speaker_down" },
    { ...ban, target: "203.0.113.8", prefix: "203.0.113.8/32", announcement: "speaker_down" },
  ] as [BanWire, BanWire];
  const worst = "worst: Not known whether routers have the route";
  expect(textsOf({ active: [attack, other], bans: [one, two] })[1]).toBe(`danger: 2 attacks, 2 not known, ${worst}`);
  const third = { target: "203.0.113.9", active: true } as AttackWire;
  expect(textsOf({ active: [attack, third, other], bans: [one, two] })[1]).toBe(
    "danger: 3 attacks, 1 not stopped, 2 not known, worst: No ban",
  );
});

test("attacks are as well off as the worst of them", () => {
  const held = { ...ban, announcement: "announced", reached: { neighbors: 2, of: 2 } } as BanWire;
  const lacking = { ...held, reached: { neighbors: 1, of: 2 } };
  expect(textsOf({ active: [attack], bans: [held] })[1]).toBe("warn: 1 attack: Route at 2 of 2 routers");
  expect(textsOf({ active: [attack], bans: [lacking] })[1]).toBe("warn: 1 attack: Route at 1 of 2 routers");
  expect(textsOf({ active: [attack, other], bans: [held] })[1]).toBe("danger: 2 attacks, 1 not stopped, worst: No ban");
  const both = [lacking, { ...held, target: "203.0.113.8", prefix: "203.0.113.8/32" }];
  expect(textsOf({ active: [attack, other], bans: both })[1]).toBe(
    "warn: 2 attacks, 1 stopped in part, worst: Route at 1 of 2 routers",
  );
});

test("of a service that does not answer, nothing is claimed", () => {
  const parts = situationParts({ ...situationOf({ active: [attack] }), silent: { since: "02:13:05 UTC" } });
  expect(parts).toEqual([{ name: "mode", tone: "danger", text: "Not known: no answer since 02:13:05 UTC" }]);
});

test("what is wrong has a tone and words", () => {
  const down = { connected: true, neighbors: [{ state: "ESTABLISHED" }, { state: "ACTIVE" }] };
  expect(textsOf({ status: { ...CALM, bgp: down } })[2]).toBe("danger: BGP: 1 of 2 neighbors up");
  expect(textsOf({ status: { ...CALM, bgp: { ...down, connected: false } } })[2]).toStartWith("danger: BGP speaker");
  expect(textsOf({ status: { ...CALM, bgp: undefined } })[2]).toBe("info: BGP not configured");
  expect(textsOf({ status: { ...CALM, dry_run: true } })[0]).toStartWith("warn: DRY RUN");
  expect(textsOf({ loss: 0.02 })[3]).toBe("danger: Capture loss 2.0 %");
  expect(textsOf({ loss: LOSS_TOLERATED })[3]).toStartWith("ok:");
  expect(textsOf({ loss: null })[3]).toBe("info: Capture loss: measuring");
  const capture = { interfaces: [{ state: "failed" }, { state: "running" }] };
  expect(textsOf({ status: { ...CALM, capture } })[3]).toBe("danger: Capture: 1 of 2 interfaces failed");
  const opaque = { interfaces: [{ state: "running" }, { state: "running", name: "eth1", warning: "96 % are vxlan" }] };
  expect(textsOf({ status: { ...CALM, capture: opaque } })[3]).toBe("warn: Capture: mostly tunnels on eth1");
});

test("exporters are a part where there is flow telemetry, and a fault of one is a danger", () => {
  const telemetry = { exporters: 3, faulty: 0, states: { ok: 3 } };
  expect(textsOf({ status: CALM })).toHaveLength(4);
  expect(textsOf({ status: { ...CALM, telemetry } })[4]).toBe("ok: 3 exporters");
  expect(textsOf({ status: { ...CALM, telemetry: { ...telemetry, faulty: 1 } } })[4]).toBe(
    "danger: 1 of 3 exporters with a fault",
  );
});

test("a tenant sees its attacks alone, and nothing is claimed that was not read", () => {
  expect(textsOf({ status: { dry_run: false, hostgroups: [] } })).toEqual(["ok: LIVE", "ok: No attack"]);
  const loading = { kind: "loading" } as const;
  expect(
    situationParts({ status: loading, attacks: loading, bans: [], loss: null, silent: null }).map(({ tone }) => tone),
  ).toEqual(["info", "info"]);
});
