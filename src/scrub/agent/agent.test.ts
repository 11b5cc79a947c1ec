/** The agent with a fake kernel and a fake service; with real ones: test/scenario. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { address } from "../../../test/fixtures/host-rows.ts";
import { AgentBench } from "../../../test/fixtures/scrub/agent-bench.ts";
import { AgentTable } from "../../../test/fixtures/scrub/agent-parts.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import type { PollAnswer } from "./controller.ts";
import { DOCUMENT_FILE } from "./document-file.ts";

const HOUR = 3_600_000;

const bench = new AgentBench();
const { start, turn, answer, said, leftMs, restarted } = bench;

interface DocumentOptions {
  readonly seconds?: number;
  readonly etag?: string;
  readonly sentAtMs?: number | null;
}

/** One ban with one rule, which expires after this time on the service's bench.clock. */
function document({ seconds = 60, etag = '"a"', sentAtMs = null }: DocumentOptions = {}): PollAnswer {
  const expiresAt = new Date((sentAtMs ?? bench.clock.wallMs()) + seconds * 1000).toISOString();
  const flowspec = [{ dst: "192.0.2.1/32", proto: 17, action: "discard" }];
  const ban = { target: "192.0.2.1", prefix: "192.0.2.1/32", method: "divert", expires_at: expiresAt, flowspec };
  return { kind: "document", text: JSON.stringify({ version: 1, bans: [ban] }), etag, sentAtMs };
}

test("fills the filter before it attaches it, and polls the service after that", async () => {
  bench.filter.pairs = [
    { source: address("192.0.2.9"), victim: address("192.0.2.1"), expiresAtMs: 0, packets: 0, bytes: 0 },
  ];
  await start();
  expect(bench.filter.calls).toEqual(["allowlist", "whitelist", "networks", "attach"]);
  expect(bench.filter.pairs).toEqual([]);
  expect(bench.desk.polls.map(({ etag }) => etag)).toEqual([null]);
});

describe("what is on disk", () => {
  test("is in force before the filter is, for the time that is left", async () => {
    await start();
    await answer(document({ seconds: 60 }));
    await restarted();
    bench.filter = new AgentTable();
    bench.clock.advance(20_000);
    await start();
    expect(bench.filter.calls).toEqual(["allowlist", "whitelist", "networks", "rules", "attach"]);
    expect(leftMs()).toEqual([40_000]);
    expect(bench.desk.polls.map(({ etag }) => etag)).toEqual([null]);
  });

  test("of another node is not taken", async () => {
    await start();
    await answer(document());
    await restarted();
    bench.filter = new AgentTable();
    await start({ node: "scrub2" });
    expect(bench.filter.calls).not.toContain("rules");
    expect(said("the rule document on disk belongs to another node: ignored")).toHaveLength(1);
  });

  test.each(["", '{"format":1}'])("that is %j, leaves what is in the kernel", async (text) => {
    writeFileSync(join(bench.directory, DOCUMENT_FILE), text);
    await start();
    expect(bench.filter.calls).not.toContain("rules");
    expect(said("the rule document on disk is unusable: rules stay unchanged")).toHaveLength(1);
    await answer(document());
    expect(bench.filter.rules).toHaveLength(1);
  });

  test("is that of the last answer, also when the agent stops at once", async () => {
    const agent = await start();
    for (const etag of ['"a"', '"b"', '"c"']) {
      await answer(document({ etag }));
      bench.clock.advance(100);
      await turn();
    }
    await agent.stop();
    expect(JSON.parse(readFileSync(join(bench.directory, DOCUMENT_FILE), "utf8"))).toMatchObject({ etag: '"c"' });
  });
});

describe("a document that cannot be used", () => {
  test.each([
    ["broken", { kind: "document", text: "{", etag: '"b"', sentAtMs: null }],
    ["too large", { kind: "unusable", reason: "it has more than 1 bytes" }],
    ["a refusal", { kind: "refused", status: 404, detail: "" }],
  ] as const)("%s, leaves the last good one", async (_, bad) => {
    const agent = await start();
    await answer(document());
    bench.clock.advance(100);
    await turn();
    await answer(bad);
    bench.clock.advance(5000);
    expect(bench.filter.rules).toHaveLength(1);
    expect(said("no rule document")).toHaveLength(1);
    agent.read();
    expect(await bench.metrics.text()).toMatch(/svc_scrub_agent_controller_up 0\n/);
  });
});

test("expiries follow the service's bench.clock, not this node's", async () => {
  await start();
  await answer(document({ seconds: 60, sentAtMs: bench.clock.wallMs() + HOUR }));
  // The header leaves half a second open.
  expect(leftMs()).toEqual([59_500]);
  expect(
    said("the clocks of this node and of the service differ: expiries follow the service's; run NTP on both"),
  ).toHaveLength(1);
  bench.clock.advance(10_000);
  expect(bench.desk.reports.at(-1)?.body["service_ahead_seconds"]).toBe(0);
});

test("a refused write is retried each second, and the report names what is in force", async () => {
  const agent = await start();
  bench.filter.isBroken = true;
  await answer(document());
  bench.clock.advance(2000);
  expect(bench.filter.calls.filter((call) => call === "rules")).toHaveLength(3);
  expect(said("the kernel refuses the rules: the old ones stay, retrying")).toHaveLength(1);
  bench.filter.isBroken = false;
  bench.clock.advance(1000);
  expect(bench.filter.rules).toHaveLength(1);
  agent.read();
  expect(await bench.metrics.text()).toMatch(/svc_scrub_agent_faults_total\{operation="kernel"\} 3\n/);
});

test("in dry run nothing is dropped, and what a process before left goes at once", async () => {
  const agent = await start({ dryRun: true });
  expect(bench.filter.calls).toEqual(["allowlist", "whitelist", "networks", "rules", "attach"]);
  await answer(document());
  expect(bench.filter.rules).toEqual([]);
  expect(bench.desk.reports[0]?.body).toMatchObject({ dry_run: true });
  agent.read();
  expect(await bench.metrics.text()).toContain("svc_dry_run 1\n");
});

test("reports at once and then every so often, real load and drops; never two at a time", async () => {
  const startedMs = bench.clock.wallMs();
  await start();
  await answer(document());
  expect(bench.desk.reports.map(({ body }) => body)).toEqual([
    {
      ...{ version: "1", xdp_mode: "native", dry_run: false, load_pps: 0, load_mbps: 0 },
      ...{ dropped_packets: 4, dropped_bytes: 360, rules: 0, rules_left_out: 0, service_ahead_seconds: 0 },
      capabilities: ["port_ranges", "tcp_flags_unset", "packet_length", "protocol_ranges", "refused_bans"],
      started_at: new Date(startedMs).toISOString(),
      ...{ refused_bans: [], refused_bans_total: 0 },
      interfaces: [{ name: "eth1", state: "attached", mode: "native" }],
    },
  ]);
  bench.filter.arrived = 10_000;
  bench.clock.advance(10_000);
  expect(bench.desk.reports).toHaveLength(1);
  bench.desk.reports[0]?.answer.resolve({ kind: "stored" });
  await turn();
  // What is in force changed since: it is said a second after the last report.
  bench.clock.advance(1000);
  expect(bench.desk.reports[1]?.body).toMatchObject({ rules: 1, rules_etag: '"a"' });
  bench.desk.reports[1]?.answer.resolve({ kind: "stored" });
  await turn();
  bench.filter.arrived = 28_000;
  bench.clock.advance(9000);
  expect(bench.desk.reports[2]?.body).toMatchObject({ load_pps: 2000, load_mbps: 2, rules: 1, rules_etag: '"a"' });
  expect(bench.desk.reports).toHaveLength(3);
});

test("an accepted report causes a poll at once, if the service was unreachable", async () => {
  await start();
  await answer({ kind: "unreachable", reason: "ECONNREFUSED" });
  expect(bench.desk.polls).toHaveLength(1);
  bench.desk.reports[0]?.answer.resolve({ kind: "stored" });
  await turn();
  expect(bench.desk.polls).toHaveLength(2);
});

test("a document with other content is bench.logged, not one with mere extensions", async () => {
  await start();
  for (const seconds of [60, 70, 80]) {
    await answer(document({ seconds, etag: `"${seconds}"` }));
    bench.clock.advance(100);
    await turn();
  }
  expect(leftMs()).toEqual([79_900]);
  expect(said("rule document applied")).toEqual([expect.objectContaining({ bans: 1, rules: 1, rules_etag: '"60"' })]);
  await answer({ kind: "document", text: '{"version":1,"bans":[]}', etag: '"x"', sentAtMs: null });
  expect(said("rule document applied").at(-1)).toMatchObject({ bans: 0, rules: 0 });
});

test("a line of the log says each minute how it is", async () => {
  await start();
  await answer(document());
  bench.clock.advance(60_000);
  expect(said("status")).toEqual([
    expect.objectContaining({ controller: "up", xdp_mode: "native", dropped_packets: 4, bans: 0, rules: 0 }),
  ]);
});

test("stops with no timer left, and leaves the rules", async () => {
  const agent = await start();
  await answer(document());
  await agent.stop();
  await eventually(() => bench.clock.pending === 0, "a timer is left");
  expect(bench.filter.rules).toHaveLength(1);
});

describe("the node's own rules", () => {
  const size = () => ({ prefixes: 1, ranges: 1, bytes: 1 });
  const own = { name: "own", action: "drop", source_sets: ["drop"] };
  const attacked = { name: "attacked", action: "drop", when: "attacked" };
  const more = { filter_rules: [own, attacked], prefix_sets: [{ name: "drop", file: "/drop" }] };
  const lists = () => bench.filter.operators.map(({ prefix, rules }) => `${prefix.text} ${rules.length}`);

  test("are in force before the filter is and without a document, after their sets", async () => {
    bench.namedSets = { size, close: () => {} };
    await start({ more, bounds: { networks: ["192.0.2.0/24"] } });
    expect(bench.filter.calls).toEqual(["allowlist", "whitelist", "networks", "sets", "rules", "attach"]);
    expect(lists()).toEqual(["192.0.2.0/24 1"]);
    await answer(document());
    expect(lists()).toEqual(["192.0.2.0/24 1", "192.0.2.1/32 2"]);
    expect(bench.filter.rules).toHaveLength(1);
    bench.clock.advance(60_000);
    expect(lists()).toEqual(["192.0.2.0/24 1"]);
  });

  test("without bounds are for every destination", async () => {
    bench.namedSets = { size, close: () => {} };
    await start({ more });
    expect(lists()).toEqual(["0.0.0.0/0 1", "::/0 1"]);
  });

  test("wait for the first document where a process before left rules of bans", async () => {
    const row = { expiresAtMs: 0, packets: 0, bytes: 0, droppedPackets: 0, droppedBytes: 0 };
    bench.filter.rows = [{ id: "192.0.2.1/32 x", ...row, answeredPackets: 0, answeredBytes: 0, validated: 0 }];
    await start({ more });
    expect(bench.filter.calls).not.toContain("rules");
    expect(bench.logged.some(({ msg }) => String(msg).startsWith("an earlier process left rules of bans"))).toBe(true);
    await answer(document());
    expect(lists()).toContain("192.0.2.1/32 1");
  });

  test("take over sets that changed, and keep the old ones while the kernel refuses", async () => {
    bench.namedSets = { size, close: () => {} };
    const agent = await start({ more });
    bench.clock.advance(5000);
    expect(bench.filter.calls.filter((call) => call === "sets")).toHaveLength(1);
    bench.namedSets = { size, close: () => {} };
    bench.filter.isBroken = true;
    bench.clock.advance(1000);
    bench.filter.isBroken = false;
    bench.clock.advance(5000);
    expect(bench.filter.calls.filter((call) => call === "sets")).toHaveLength(3);
    agent.read();
    expect(await bench.metrics.text()).toMatch(/svc_scrub_agent_faults_total\{operation="kernel"\} 1\n/);
  });

  test("are counted in the metrics by name", async () => {
    bench.namedSets = { size, close: () => {} };
    const agent = await start({ more });
    const id = bench.filter.operators[0]?.rules[0]?.id ?? "";
    const row = { expiresAtMs: 0, packets: 9, bytes: 540, droppedPackets: 9, droppedBytes: 540 };
    bench.filter.rows = [{ id, ...row, answeredPackets: 0, answeredBytes: 0, validated: 0 }];
    agent.read();
    expect(await bench.metrics.text()).toMatch(/svc_scrub_agent_filter_rule_dropped_packets_total\{rule="own"\} 9\n/);
  });
});
