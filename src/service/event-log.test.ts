import { expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { ban } from "../../test/fixtures/views.ts";
import { automaticBanEvent } from "../audit/automatic-audit.ts";
import { ACTIVE_ATTACKS_MAX, CARPETS_MAX } from "../limits.ts";
import { capIn, replacedAt } from "../mitigation/admission.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { CapReadings } from "./cap-readings.ts";
import { alertAtCap } from "./event-log.ts";

const ACTIVE = ban({ manual: false });
const REPLACED = ban({ manual: false, state: "withdrawn", reason: replacedAt("max_active_bans reached") });
const REFUSED = ban({ manual: false, state: "rejected", reason: "max_banned_fraction reached" });

test("a cap that is reached is counted each time and logged once a minute; other ends of bans are neither", async () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = openLog({ level: "info", clock, destination: { write: (line) => lines.push(line) } });
  const metrics = new Metrics("test");
  const alerts = { log, limiter: new Limiter(clock), metrics: metrics.mitigation };
  for (let i = 0; i < 3; i++) alertAtCap(alerts, { ban: REPLACED, previous: ACTIVE });
  alertAtCap(alerts, { ban: REFUSED, previous: null });
  alertAtCap(alerts, { ban: ACTIVE, previous: null });
  alertAtCap(alerts, { ban: { ...REPLACED, reason: "attack ended" }, previous: ACTIVE });
  expect(lines.map((line) => JSON.parse(line) as Record<string, unknown>)).toMatchObject([
    { level: "warn", outcome: "replaced", msg: expect.stringContaining("ban.max_active_bans reached") },
    { level: "warn", outcome: "refused", msg: expect.stringContaining("ban.max_banned_fraction reached") },
  ]);
  const text = await metrics.text();
  expect(text).toContain('svc_bans_at_cap_total{cap="max_active_bans",outcome="replaced"} 3');
  expect(text).toContain('svc_bans_at_cap_total{cap="max_banned_fraction",outcome="refused"} 1');
});

test("caps are read with their limits and with what was refused and replaced because of them", () => {
  const caps = new CapReadings();
  caps.banChanged({ ban: REPLACED, previous: ACTIVE });
  for (let i = 0; i < 2; i++) caps.banChanged({ ban: REFUSED, previous: null });
  caps.banChanged({ ban: ACTIVE, previous: null });
  const policy = { maxActiveBans: 7, maxBannedFraction: 0.5 };
  const tables = { detector: { refused: 5, replaced: 6 }, carpets: { refused: 8, replaced: 9 } };
  expect(caps.read(policy, tables)).toEqual([
    { name: "max_active_bans", limit: 7, refused: 0, replaced: 1 },
    { name: "max_banned_fraction", limit: 0.5, refused: 2, replaced: 0 },
    { name: "attacks", limit: ACTIVE_ATTACKS_MAX, refused: 5, replaced: 6 },
    { name: "carpets", limit: CARPETS_MAX, refused: 8, replaced: 9 },
  ]);
  expect(caps.read(policy, null)[2]).toMatchObject({ refused: 0, replaced: 0 });
});

test("a ban that was replaced is a row of the audit trail with its reason", () => {
  expect(automaticBanEvent({ ban: REPLACED, previous: ACTIVE }, 5)).toMatchObject({
    action: "unban",
    result: "withdrawn",
    reason: "replaced by the ban of a worse attack: max_active_bans reached",
    source: "auto",
  });
  expect(capIn(REPLACED.reason)).toBe("max_active_bans reached");
});
