/** The limits of the API (docs/interface.md#limits): what is within each of them, and what is one beyond. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { loadConfig } from "../../src/config/load/load.ts";
import { AttackLog } from "../../src/detection/attack/attack-log.ts";
import { RULES_HOLD_MS } from "../../src/http/holds/rule-polls.ts";
import { ZONES_HOLD_MS } from "../../src/http/holds/zone-polls.ts";
import { HOSTS_PAGE_MAX } from "../../src/http/hosts/hosts-query.ts";
import { BODY_BYTES_MAX, ENDED_ATTACKS_KEPT } from "../../src/limits.ts";
import { configOf } from "../fixtures/config/parsed-config.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { attack, NOON } from "../fixtures/views.ts";

const DAY = 86_400_000;
const WWW = "www.example.net";

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

const statusOf = async (path: string) => (await channel.get(`/api/v1/${path}`)).status;
const rangeOf = (path: string) => (ms: number) =>
  statusOf(`${path}from=${new Date(NOON - ms).toISOString()}&to=${new Date(NOON).toISOString()}`);
const post = async (path: string, body: string) => (await channel.post(`/api/v1/${path}`, body, "admin")).status;
const lever = async (body: object) => (await channel.lever(WWW, { mode: "manual", ttl_seconds: 60, ...body })).status;
const blockOf = (ttl: number) =>
  post("dataplane/sources", `{"source":"198.51.100.1","victim":"192.0.2.1","ttl_seconds":${ttl}}`);
const bodyOf = (bytes: number) => post("ban", '{"ip":"192.0.2.1"}'.padEnd(bytes));

const [BODY, HOSTS, MONTH] = [BODY_BYTES_MAX, HOSTS_PAGE_MAX, 31 * DAY];
const TRAFFIC = "traffic?key=192.0.2.1&";
const HISTORY = `edge/history?zone=${WWW}&`;
/** What asks with a number, the numbers that are within, and those that are beyond, with the status of the latter. */
test.each<[string, (value: number) => Promise<number>, readonly number[], readonly number[], number]>([
  ["history range of the audit trail, ms #limit-history-range", rangeOf("audit?"), [MONTH], [MONTH + 1], 400],
  ["history range of traffic, ms #limit-history-range", rangeOf(TRAFFIC), [MONTH], [MONTH + 1], 400],
  ["history range of zones, ms #limit-history-range", rangeOf(HISTORY), [MONTH], [MONTH + 1], 400],
  [
    "history step of traffic #limit-history-step",
    (step) => statusOf(`${TRAFFIC}step=${step}`),
    [1, 86_400],
    [0, 86_401],
    400,
  ],
  [
    "history step of zones #limit-history-step",
    (step) => statusOf(`${HISTORY}step=${step}`),
    [1, 86_400],
    [0, 86_401],
    400,
  ],
  ["request body #limit-request-body", bodyOf, [BODY - 1, BODY], [BODY + 1], 413],
  ["page of hosts #limit-page-of-hosts", (limit) => statusOf(`hosts?limit=${limit}`), [HOSTS], [HOSTS + 1], 400],
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

test("a challenge is in documents for ten minutes #limit-challenge-fan-out", async () => {
  const live = async () => (await channel.document()).acme_challenges.length;
  await channel.slot({ zone: WWW });
  await channel.publish();
  channel.server.clock.advance(599_999);
  expect(await live()).toBe(1);
  channel.server.clock.advance(1);
  expect(await live()).toBe(0);
});

test("a clearance key is valid for 48 h #limit-clearance-key-validity", async () => {
  const { zones } = await channel.document();
  const keys = zones.flatMap(({ clearance_keys }) => clearance_keys as { not_before: string; not_after: string }[]);
  const validities = keys.map(({ not_before, not_after }) => Date.parse(not_after) - Date.parse(not_before));
  expect(new Set(validities)).toEqual(new Set([2 * DAY]));
});

test("edge.stale_after_seconds is 15 s by default #limit-edge-stale-after-seconds", () => {
  const thresholds = "{pps: 1, mbps: 1, flows_per_sec: 1}";
  const { edge } = configOf(`networks: [192.0.2.0/24]\nthresholds: ${thresholds}\nedge: {nodes: [{name: e1}]}`);
  expect(edge?.staleAfterSeconds).toBe(15);
});

test("the listener is 127.0.0.1:8080 by default #limit-listener-default", () => {
  const loaded = loadConfig(new URL("../fixtures/config/good-minimal.yaml", import.meta.url).pathname);
  expect(loaded).toMatchObject({ kind: "valid", config: { api: { host: "127.0.0.1", port: 8080 } } });
});

test("a poll for zones is held for 25 s, and one for rules for 30 s #limit-zones-poll-hold", () => {
  expect([ZONES_HOLD_MS, RULES_HOLD_MS]).toEqual([25_000, 30_000]);
});
