/** What a ban would take, by what routers do with the packets of its rules. */

import { expect, test } from "bun:test";
import { flow } from "../../test/fixtures/bgp/bgp.ts";
import { configWith } from "../../test/fixtures/config/parsed-config.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ban } from "../../test/fixtures/views.ts";
import type { MinuteHeader } from "../detection/attack/minute-sample.ts";
import type { RouterAction } from "../mitigation/rules/action.ts";
import { banEffect } from "./order-effects.ts";

const VICTIM = prefix("192.0.2.1/32");
const HEADER: MinuteHeader = {
  header: {
    ...{ source: address("198.51.100.1"), destination: VICTIM.address, protocol: 17, packetBytes: 111 },
    ...{ ports: { source: 19, destination: 5000 }, tcpFlags: null, fragment: null },
  },
  ...{ wireBytes: 125, packets: 10, isAttacked: false, verdict: null },
};

function droppedPps(routers: RouterAction): number | null {
  const config = configWith("");
  const minute = () => ({ headers: Array.from({ length: 100 }, () => HEADER), seconds: 10 });
  const rules = [flow(VICTIM.text).rule];
  const measure = { kind: "flowspec", rules, matchesAll: true, basis: "", localPref: 0, routers } as const;
  const running = { config, bans: { active: new Map() }, packetPath: { minute } };
  const effect = banEffect({ ...ban(), prefix: VICTIM, measure }, running, () => true);
  return effect.kind === "known" ? effect.effect.dropped.pps : null;
}

test("marked packets go on, those over a rate by packets are dropped, and redirected ones are lost", () => {
  expect(droppedPps({ kind: "mark", dscp: 8 })).toBe(0);
  expect(droppedPps({ kind: "rate_limit_packets", packetsPerSecond: 75 })).toBeCloseTo(25);
  expect(droppedPps({ kind: "redirect", to: "rt:65000:1" })).toBe(100);
});
