/** When polls are answered after a change. The answers, and how polls end: test/api/node-polls.test.ts. */

import { beforeEach, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { quietly } from "../../../test/fixtures/scrub/quiet-observer.ts";
import { divertedBan, scrubbing } from "../../../test/fixtures/scrub/scrubbing.ts";
import type { Principal } from "../../access/principal.ts";
import type { RuleDocument } from "../../scrub/rule-documents.ts";
import { ScrubNodes } from "../../scrub/scrub-nodes.ts";
import type { Call } from "../route.ts";
import { RulePolls } from "./rule-polls.ts";

/** Of thousands of bans. */
const MAKING_MS = 20;

let clock: ManualClock;
let nodes: ScrubNodes;
let polls: RulePolls;

class LaboriousNodes extends ScrubNodes {
  override documentFor(name: string | null): RuleDocument {
    clock.advance(MAKING_MS);
    return super.documentFor(name);
  }
}

beforeEach(() => {
  clock = new ManualClock();
  nodes = new LaboriousNodes(quietly(scrubbing({ name: "s1" }), clock));
  const metrics = { parked() {}, ended() {}, refused() {} };
  const timers = new ManualTimers(clock);
  polls = new RulePolls({ nodes, metrics, clock, timers, nextTurn: () => Promise.resolve() });
});

const principal: Principal = { kind: "principal", operator: "node", role: "agent", tenant: null, node: "s1" };

async function poll(etag: string | null = null): Promise<Response> {
  const request = new Request("http://floodwall/rules", { headers: etag === null ? {} : { "if-none-match": etag } });
  const call: Call = {
    principal,
    request,
    params: {},
    query: new URLSearchParams(),
    node: "s1",
    recheck: () => principal,
  };
  const answer = await polls.poll(call);
  if (answer instanceof Response) return answer;
  throw new Error(answer.kind);
}

const targets = async (answer: Response) =>
  ((await answer.json()) as { bans: { target: string }[] }).bans.map(({ target }) => target);

test("the first change is sent at once, the next after ten times as long as the documents took to make", async () => {
  const before = (await poll()).headers.get("etag");
  const parked = poll(before);
  nodes.banChanged(divertedBan({ target: "192.0.2.1" }));
  const first = await parked;
  expect(await targets(first)).toEqual(["192.0.2.1"]);
  nodes.banChanged(divertedBan({ target: "192.0.2.2" }));
  nodes.banChanged(divertedBan({ target: "192.0.2.3" }));
  expect(await targets(await poll())).toEqual(["192.0.2.1"]);
  const waiting = poll(first.headers.get("etag"));
  clock.advance(10 * MAKING_MS);
  expect(await targets(await waiting)).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  clock.advance(60_000);
  nodes.banChanged({ ...divertedBan({ target: "192.0.2.1" }), state: "withdrawn" });
  expect(await targets(await poll())).toEqual(["192.0.2.2", "192.0.2.3"]);
});

test("nothing waits after a stop", async () => {
  await poll();
  nodes.banChanged(divertedBan({ target: "192.0.2.1" }));
  await poll();
  nodes.banChanged(divertedBan({ target: "192.0.2.2" }));
  expect(clock.pending).toBe(1);
  await polls.stop();
  expect(clock.pending).toBe(0);
});
