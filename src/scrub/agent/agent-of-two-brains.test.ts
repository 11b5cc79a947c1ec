/** An agent that polls two brains, with a fake kernel and fake services. */
import { describe, expect, test } from "bun:test";
import { AgentBench } from "../../../test/fixtures/scrub/agent-bench.ts";
import { AgentTable, type Desk } from "../../../test/fixtures/scrub/agent-parts.ts";
import type { PollAnswer } from "./controller.ts";

const bench = new AgentBench();
const { start, turn, said, leftMs, restarted } = bench;

/** Bans of UDP from these ports, by victim. */
function document(ports: Readonly<Record<string, readonly number[]>>, { seconds = 60, etag = '"a"' } = {}): PollAnswer {
  const expiresAt = new Date(bench.clock.wallMs() + seconds * 1000).toISOString();
  const bans = Object.entries(ports).map(([target, from]) => ({
    ...{ target, prefix: `${target}/32`, method: "divert", expires_at: expiresAt },
    flowspec: from.map((port) => ({ dst: `${target}/32`, proto: 17, src_port: port, action: "discard" })),
  }));
  return { kind: "document", text: JSON.stringify({ version: 1, bans }), etag, sentAtMs: null };
}

async function answer(desk: Desk, with_: PollAnswer): Promise<void> {
  desk.polls.at(-1)?.answer.resolve(with_);
  await turn();
}

const ports = () => bench.filter.rules.map(({ rule }) => rule.sourcePorts[0]?.from);

describe("a node that polls two brains", () => {
  test("enforces the bans of both, for one victim the newest rules first", async () => {
    await start({ brains: 2 });
    await answer(bench.desk, document({ "192.0.2.1": [1], "192.0.2.2": [2] }));
    bench.clock.advance(50);
    await answer(bench.other, document({ "192.0.2.1": [3] }));
    expect(ports()).toHaveLength(3);
    const ofFirst = bench.filter.rules.filter(({ rule }) => rule.destination?.text === "192.0.2.1/32");
    expect(ofFirst.map(({ rule }) => rule.sourcePorts[0]?.from)).toEqual([3, 1]);
  });

  test("removes what neither wants, and keeps what the other one wants", async () => {
    await start({ brains: 2 });
    await answer(bench.desk, document({ "192.0.2.1": [1] }));
    await answer(bench.other, document({ "192.0.2.1": [1], "192.0.2.2": [2] }));
    bench.clock.advance(100);
    await turn();
    await answer(bench.desk, document({}, { etag: '"b"' }));
    expect(ports()).toEqual([1, 2]);
    bench.clock.advance(100);
    await turn();
    await answer(bench.other, document({ "192.0.2.2": [2] }, { etag: '"b"' }));
    expect(ports()).toEqual([2]);
  });

  test("goes on with the bans of a brain that is away until they expire, and reports to each its own document", async () => {
    await start({ brains: 2 });
    await answer(bench.desk, document({ "192.0.2.1": [1] }, { seconds: 30 }));
    await answer(bench.other, document({ "192.0.2.1": [2] }, { seconds: 90, etag: '"z"' }));
    for (const desk of [bench.desk, bench.other]) desk.reports.at(-1)?.answer.resolve({ kind: "stored" });
    await turn();
    await answer(bench.desk, { kind: "unreachable", reason: "ECONNREFUSED" });
    expect(leftMs()).toEqual([90_000, 90_000]);
    bench.clock.advance(30_000);
    await turn();
    expect([ports(), leftMs()]).toEqual([[2], [60_000]]);
    for (const desk of [bench.desk, bench.other]) desk.reports.at(-1)?.answer.resolve({ kind: "stored" });
    const etags = [bench.desk, bench.other].map(({ reports }) => reports.at(-1)?.body["rules_etag"]);
    expect(etags).toEqual(['"a"', '"z"']);
  });

  test("says which brain does not answer", async () => {
    await start({ brains: 2 });
    await answer(bench.other, { kind: "unreachable", reason: "ECONNREFUSED" });
    await answer(bench.desk, document({}));
    expect(said("no rule document")).toHaveLength(1);
    expect(said("the service answers")).toMatchObject([{ service: "http://127.0.0.1:1" }]);
  });

  test("starts with the last documents of both", async () => {
    await start({ brains: 2 });
    await answer(bench.desk, document({ "192.0.2.1": [1] }));
    await answer(bench.other, document({ "192.0.2.2": [2] }));
    await restarted();
    bench.filter = new AgentTable();
    await start({ brains: 2 });
    expect(ports()).toEqual([1, 2]);
  });
});
