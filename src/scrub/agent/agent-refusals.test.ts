/** What the agent does with bans that it refuses, with a fake kernel and a fake service. */
import { expect, test } from "bun:test";
import { AgentBench } from "../../../test/fixtures/scrub/agent-bench.ts";
import { AgentTable } from "../../../test/fixtures/scrub/agent-parts.ts";
import { REMEDIES } from "../../mitigation/rules/room-limit.ts";
import { FILTER_RULES_PER_DESTINATION_MAX } from "../../native/constants.ts";
import type { PollAnswer } from "./controller.ts";

const bench = new AgentBench();
const { start, turn, answer, said, leftMs, restarted } = bench;

const document = (options: DocumentOptions = {}) => beside([], { etag: '"a"', ...options });

interface DocumentOptions {
  readonly seconds?: number;
  readonly etag?: string;
}

const BOUNDS = { networks: ["192.0.2.0/24"], max_seconds: 60 };
const OTHER = { prefix: "192.0.2.2/32", flowspec: [{ proto: 17, action: "discard" }] };
const FOREIGN = { prefix: "198.51.100.7/32", flowspec: [{ proto: 17, action: "discard" }] };
const reported = () => bench.desk.reports.at(-1)?.body;

/** A document with a ban of one rule, and others beside it. */
function beside(others: readonly object[], { seconds = 60, etag = '"b"' }: DocumentOptions = {}): PollAnswer {
  const expiresAt = new Date(bench.clock.wallMs() + seconds * 1000).toISOString();
  const own = { prefix: "192.0.2.1/32", flowspec: [{ proto: 17, action: "discard" }] };
  const isOther = others.some((ban) => "prefix" in ban && ban.prefix === own.prefix);
  const bans = [...(isOther ? [] : [own]), ...others].map((ban) => ({
    method: "divert",
    expires_at: expiresAt,
    ...ban,
  }));
  return { kind: "document", text: JSON.stringify({ version: 1, bans }), etag, sentAtMs: null };
}

const inForce = () => bench.filter.rules.map(({ rule }) => rule.destination?.text);

/** A report is accepted, and the time passes until another one may follow. */
async function pause(): Promise<void> {
  for (const { answer: each } of bench.desk.reports) each.resolve({ kind: "stored" });
  await turn();
  bench.clock.advance(1000);
  await turn();
}

test.each([
  ["beyond its bounds", FOREIGN, "out_of_bounds", "is not inside of bounds.networks"],
  [
    "with a rule of a form that it does not know",
    { ...OTHER, flowspec: [...OTHER.flowspec, { action: "mirror" }] },
    "unreadable",
    "flowspec[1]: action: must be discard or rate_limit",
  ],
])("a ban that is refused, %s, leaves the others in force, and is reported at once", async (_, bad, cause, reason) => {
  const agent = await start({ bounds: BOUNDS });
  await pause();
  await answer(beside([bad]));
  expect(inForce()).toEqual(["192.0.2.1/32"]);
  expect(reported()).toMatchObject({
    ...{ rules: 1, rules_etag: '"b"' },
    refused_bans: [{ reason, prefixes: [bad.prefix] }],
    refused_bans_total: 1,
  });
  expect(reported()).not.toHaveProperty("document_refused");
  expect(said("a ban of the rule document is refused, the others are in force")).toEqual([
    expect.objectContaining({ ban: bad.prefix, reason }),
  ]);
  agent.read();
  const text = await bench.metrics.text();
  expect(text).toContain(`svc_scrub_agent_bans_refused{cause="${cause}"} 1\n`);
  expect(text).toContain(`svc_scrub_agent_ban_refusals_total{cause="${cause}"} 1\n`);
  expect(text).toContain('svc_scrub_agent_polls_total{result="document"} 1\n');
  await pause();
  await answer(beside([], { etag: '"c"' }));
  expect(reported()).toMatchObject({ rules_etag: '"c"', refused_bans: [], refused_bans_total: 0 });
});

test("a ban that is refused keeps the rules that it had, until these expire", async () => {
  await start({ bounds: BOUNDS });
  await answer(document({ seconds: 60 }));
  bench.clock.advance(100);
  await turn();
  await answer(document({ seconds: 3600, etag: '"b"' }));
  expect(leftMs()).toEqual([59_900]);
  await pause();
  expect(reported()).toMatchObject({
    refused_bans: [{ reason: "lasts longer than bounds.max_seconds", prefixes: ["192.0.2.1/32"] }],
  });
  bench.clock.advance(60_000);
  expect(bench.filter.rules).toEqual([]);
});

test("a ban that is refused keeps nothing where it has become virtual", async () => {
  await start({ bounds: BOUNDS });
  await answer(document());
  bench.clock.advance(100);
  await turn();
  await answer(beside([{ ...FOREIGN, prefix: "192.0.2.1/32", dry_run: true, expires_at: "never" }]));
  expect(bench.filter.rules).toEqual([]);
});

test("a ban that is refused on disk is removed from the kernel too, where the bounds were narrowed since, and the others are not", async () => {
  await start();
  await answer(beside([FOREIGN]));
  expect(inForce()).toHaveLength(2);
  await restarted();
  bench.filter = new AgentTable();
  await start({ bounds: BOUNDS });
  expect(bench.filter.calls).toEqual(["allowlist", "whitelist", "networks", "rules", "attach"]);
  expect(inForce()).toEqual(["192.0.2.1/32"]);
  expect(bench.desk.reports[0]?.body).toMatchObject({ rules_etag: '"b"', refused_bans_total: 1 });
});

test("a ban without room in the kernel is reported by name, those in force stay", async () => {
  const most = { pin_path: "/none", limits: { max_dynamic_rules: 64 } };
  await start({ bounds: BOUNDS, more: { dataplane: { interfaces: ["eth1"], ...most } } });
  await answer(document());
  bench.clock.advance(100);
  await turn();
  const flowspec = Array.from({ length: 8 }, (_, i) => ({ proto: 17, src_port: i + 1, action: "discard" }));
  const others = Array.from({ length: 10 }, (_, i) => ({ ...OTHER, prefix: `192.0.2.${i + 2}/32`, flowspec }));
  await answer(beside(others));
  await pause();
  expect(reported()?.["refused_bans"]).toEqual([
    {
      reason: "no room: raise dataplane.limits.max_dynamic_rules and restart",
      prefixes: ["192.0.2.10/32", "192.0.2.11/32"],
    },
  ]);
  expect(new Set(inForce()).size).toBe(9);
});

test("a ban that another limit leaves out is reported and logged again, and counted once", async () => {
  const most = { pin_path: "/none", limits: { max_dynamic_rules: 64 } };
  await start({ more: { dataplane: { interfaces: ["eth1"], ...most } } });
  const services = Array.from({ length: FILTER_RULES_PER_DESTINATION_MAX - 1 }, (_, i) => ({ proto: 17, dst_port: i }));
  const scrubbed = { ...OTHER, flowspec: [], scrub: { services } };
  const around = { prefix: "192.0.2.0/24", flowspec: [{ dst: OTHER.prefix, proto: 17, action: "discard" }] };
  const until = (seconds: number) => new Date(bench.clock.wallMs() + seconds * 1000).toISOString();
  const [first, other] = [until(70), until(600)];
  await answer(
    beside([
      { ...around, expires_at: first },
      { ...scrubbed, expires_at: other },
    ]),
  );
  await pause();
  expect(reported()).toMatchObject({ refused_bans: [{ reason: `no room: ${REMEDIES.one_destination}` }] });
  bench.clock.advance(70_000);
  await turn();
  await pause();
  expect(reported()).toMatchObject({ refused_bans: [{ reason: `no room: ${REMEDIES.max_dynamic_rules}` }] });
  expect(said("a ban of the rule document is refused, the others are in force")).toHaveLength(2);
  expect(await bench.metrics.text()).toContain('svc_scrub_agent_ban_refusals_total{cause="no_room"} 1\n');
});

test("a document that is refused as a whole is reported at once, too", async () => {
  await start({ bounds: BOUNDS });
  await answer(document());
  bench.clock.advance(100);
  await turn();
  await pause();
  await answer({ kind: "document", text: '{"version":2,"bans":[]}', etag: '"b"', sentAtMs: null });
  await pause();
  expect(reported()).toMatchObject({ rules: 1, rules_etag: '"a"' });
  expect(reported()?.["document_refused"]).toStartWith("version: 2 is not 1");
  await answer(document({ etag: '"c"' }));
  bench.clock.advance(5000);
  await turn();
  await answer(document({ etag: '"c"' }));
  await pause();
  expect(reported()).not.toHaveProperty("document_refused");
});
