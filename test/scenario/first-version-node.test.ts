/** A scrub node whose agent knows the rules of the first version alone, at the channel of a real service. */
import { expect, test } from "bun:test";
import type { BansWire } from "../../src/http/wire/ban.ts";
import type { RuleWire } from "../../src/mitigation/rules/rule.ts";
import { RULE_CAPABILITIES } from "../../src/scrub/rule-forms.ts";
import { decodeHeader, type PacketHeader } from "../../src/traffic/packet-header.ts";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, TCP_FLAGS, type Transport, tcp, udp } from "../fixtures/packets/frames.ts";
import { Dice } from "../fixtures/packets/labelled-packets.ts";
import { userPacket } from "../fixtures/packets/user-packets.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { isDroppedByFirstVersion } from "../fixtures/scrub/first-version-reader.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const VICTIM_OF_SYNS = "203.0.113.7";
const VICTIM_OF_ANSWERS = "203.0.113.8";
const START_MS = 1_700_000_000_000;
const CALM_MS = 3000;
const FLOOD_MS = 3000;
const CONFIG = `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 400, mbps: 1000, flows_per_sec: 100000 }
mitigation: divert
scrubbing: { next_hop: 198.51.100.66, nodes: [{ name: s1 }] }
ban: { ttl_seconds: 600, unban_hysteresis_seconds: 3600, fallback: none }
`;
const API =
  "tokens: [{ name: node, token_env: AGENT, role: agent, node: s1 }, { name: noc, token_env: NOC, role: viewer }]";

interface RuleDocument {
  readonly bans: readonly { readonly target: string; readonly flowspec?: readonly RuleWire[] }[];
}

const scene = new Scenario();
const dice = new Dice(seededRandom(1));

const drawn = (count: number, frameOf: () => Uint8Array) => Array.from({ length: count }, frameOf);
const flood = (victim: string, transport: () => Transport) =>
  drawn(FLOOD_MS, () => ethernet(ip({ src: dice.address(4), dst: victim }, transport())));
const SYNS = flood(VICTIM_OF_SYNS, () => tcp({ sourcePort: dice.port(), destinationPort: 443, flags: TCP_FLAGS.syn }));
const ANSWERS = flood(VICTIM_OF_ANSWERS, () =>
  udp({ sourcePort: 53, destinationPort: dice.port(), payload: new Uint8Array(1200) }),
);
const PEERS = Array.from({ length: 100 }, (_, i) => `198.51.100.${i + 1}`);
const usersOf = (victim: string) =>
  drawn((CALM_MS + FLOOD_MS) / 10, () => ethernet(userPacket({ dice, family: 4, victim }, PEERS)));
const USERS_OF_SYNS = usersOf(VICTIM_OF_SYNS);
const USERS_OF_ANSWERS = usersOf(VICTIM_OF_ANSWERS);

const droppedShare = (rules: readonly object[], frames: readonly Uint8Array[]) => {
  const headers = frames.map((frame) => decodeHeader(frame) as PacketHeader);
  return headers.filter((header) => isDroppedByFirstVersion(rules, header)).length / headers.length;
};

function startService(): Promise<ServiceProcess> {
  const floods = { startMs: START_MS + CALM_MS, stepMs: 1 };
  const users = { startMs: START_MS, stepMs: 10 };
  const capture = scene.capture(
    ...[SYNS, ANSWERS].map((frames) => evenly(frames, floods)),
    ...[USERS_OF_SYNS, USERS_OF_ANSWERS].map((frames) => evenly(frames, users)),
  );
  return scene.start(CONFIG + capture, { api: API, env: { AGENT: "agent's", NOC: "viewer's" } });
}

/** Those of the victim of SYNs first: which of the two floods is banned first is chance. */
async function rulesOf(service: ServiceProcess): Promise<readonly (readonly object[])[]> {
  const { body } = await service.get<RuleDocument>("/api/v1/dataplane/rules?node=s1", "agent's");
  return body.bans.toSorted((a, b) => a.target.localeCompare(b.target)).map(({ flowspec }) => flowspec ?? []);
}

async function report(service: ServiceProcess, content: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/dataplane/nodes/s1/report`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer agent's" },
    body: JSON.stringify(content),
  });
  expect(answer.status).toBe(204);
}

async function rulesWhere(
  service: ServiceProcess,
  what: string,
  isExpected: (rule: object) => boolean,
): Promise<readonly (readonly object[])[]> {
  let rules: readonly (readonly object[])[] = [];
  await eventually(
    async () => {
      rules = await rulesOf(service);
      return rules.length === 2 && rules.every((each) => each.length > 0 && each.every(isExpected));
    },
    () => `the rules are not ${what}: ${JSON.stringify(rules)}`,
    20_000,
  );
  return rules;
}

const isPrecise = (rule: object) => "packet_length" in rule;

async function expectFloodsDropped(service: ServiceProcess): Promise<void> {
  const rules = await rulesWhere(service, "those of the first version", (rule) => !isPrecise(rule));
  const [syns = [], answers = []] = rules;
  const message = JSON.stringify(rules);
  expect(droppedShare(syns, SYNS), message).toBeGreaterThanOrEqual(0.98);
  expect(droppedShare(answers, ANSWERS), message).toBeGreaterThanOrEqual(0.98);
  expect(droppedShare(syns, USERS_OF_SYNS), message).toBeLessThanOrEqual(0.1);
  expect(droppedShare(answers, USERS_OF_ANSWERS), message).toBeLessThanOrEqual(0.1);
}

test("an agent of the first version drops a SYN flood and a flood of DNS answers of one length, and no others", async () => {
  const service = await startService();
  await report(service, { version: "other" });
  await expectFloodsDropped(service);
  const { bans } = (await service.get<BansWire>("/api/v1/bans", "viewer's")).body;
  expect(bans).toHaveLength(2);
  for (const ban of bans) expect(ban).not.toHaveProperty("left_out_rules");
  await report(service, { capabilities: RULE_CAPABILITIES });
  await rulesWhere(service, "precise", isPrecise);
  await report(service, {});
  await expectFloodsDropped(service);
}, 90_000);
