/** The limits of the API (docs/interface.md#limits): what is within each of them, and what is one beyond. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { AttackLog } from "../../src/detection/attack/attack-log.ts";
import { RULES_HOLD_MS } from "../../src/http/holds/rule-polls.ts";
import { ZONES_HOLD_MS } from "../../src/http/holds/zone-polls.ts";
import { HOSTS_PAGE_MAX } from "../../src/http/hosts/hosts-query.ts";
import { ENDED_ATTACKS_KEPT } from "../../src/limits.ts";
import { configOf } from "../fixtures/config/parsed-config.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { attack, NOON } from "../fixtures/views.ts";

const WWW = "www.example.net";

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

const statusOf = async (path: string) => (await channel.get(`/api/v1/${path}`)).status;
const post = async (path: string, body: string) => (await channel.post(`/api/v1/${path}`, body, "admin")).status;
const lever = async (body: object) => (await channel.lever(WWW, { mode: "manual", ttl_seconds: 60, ...body })).status;
const blockOf = (ttl: number) =>
  post("dataplane/sources", `{"source":"198.51.100.1","victim":"192.0.2.1","ttl_seconds":${ttl}}`);
/** What asks with a number, the numbers that are within, and those that are beyond, with the status of the latter. */
test.each<[string, (value: number) => Promise<number>, readonly number[], readonly number[], number]>([
  [
    "page of hosts #limit-page-of-hosts",
    (limit) => statusOf(`hosts?limit=${limit}`),
    [HOSTS_PAGE_MAX],
    [HOSTS_PAGE_MAX + 1],
    400,
  ],
  ["lever ttl_seconds #limit-lever-ttl-seconds", (ttl) => lever({ ttl_seconds: ttl }), [60, 86_400], [59, 86_401], 400],
  ["lever reason #limit-lever-reason", (length) => lever({ reason: "😀".repeat(length) }), [0, 199, 200], [201], 400],
  ["source-block ttl_seconds #limit-source-block-ttl-seconds", blockOf, [1, 86_400], [0, 86_401], 400],
])("the limit of %s", async (_, ask, within, beyond, refusal) => {
  for (const value of within) expect(await ask(value)).toBe(200);
  for (const value of beyond) expect(await ask(value)).toBe(refusal);
});

test("the last 100 ended attacks are returned, newest first #limit-ended-attacks-returned", async () => {
  const log = new AttackLog(ENDED_ATTACKS_KEPT);
  for (let i = 1; i <= 101; i++) log.add(attack({ id: `a${i}`, endedAt: NOON + i }));
  const { backend } = channel.server;
  backend.attacksView = { active: [], recent: log.ended.map((over) => ({ attack: over, ban: null })) };
  const { recent } = (await channel.get<{ recent: { id: string }[] }>("/api/v1/attacks")).body;
  expect([recent.length, recent[0]?.id, recent.at(-1)?.id]).toEqual([100, "a101", "a2"]);
});

test("edge.stale_after_seconds is 15 s by default #limit-edge-stale-after-seconds", () => {
  const thresholds = "{pps: 1, mbps: 1, flows_per_sec: 1}";
  const { edge } = configOf(`networks: [192.0.2.0/24]\nthresholds: ${thresholds}\nedge: {nodes: [{name: e1}]}`);
  expect(edge?.staleAfterSeconds).toBe(15);
});

test("a poll for zones is held for 25 s, and one for rules for 30 s #limit-zones-poll-hold", () => {
  expect([ZONES_HOLD_MS, RULES_HOLD_MS]).toEqual([25_000, 30_000]);
});
