import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { systemTimers } from "../../src/system/timers.ts";
import { CrowdProcess, mayConnect } from "../fixtures/http/crowd-process.ts";
import { POLL_PATH, PollServer } from "../fixtures/http/poll-server.ts";
import { jsonDocument } from "../fixtures/http/polls.ts";
import { eventually } from "../fixtures/service.ts";

const POLLS = 10_000;
const ROUNDS = 2;

const isPossible = await mayConnect(POLLS);
const name = `${POLLS} parked polls woken by one change all get the new bytes, and leave nothing behind`;
const reason = isPossible ? "" : " (skipped: the limit of open files is too low)";

test.skipIf(!isPossible)(name + reason, async () => {
  const server = new PollServer(systemTimers);
  server.caps = () => ({ perToken: POLLS, total: POLLS });
  const requestsBefore = requestsAlive();
  const crowd = await CrowdProcess.connect({ port: server.port, count: POLLS, path: POLL_PATH });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const { answers } = await crowd.poll(server.document.etag);
      await eventually(() => server.holds.size === POLLS, "not all polls were parked", 30_000);
      server.change(jsonDocument({ version: 1, bans: Array.from({ length: 100 }, (_, i) => `${round}.${i}`) }));
      expect(await answers).toMatchObject({ right: POLLS, wrong: 0, lost: 0 });
      expect(server.holds.size).toBe(0);
    }
    expect(await server.metric('svc_api_holds_ended_total{channel="rules",reason="changed"}')).toBe(ROUNDS * POLLS);
    await eventually(
      () => requestsAlive() < requestsBefore + POLLS / 100,
      () => `${requestsAlive()} requests live on`,
    );
  } finally {
    await crowd.end();
    await server.cut();
  }
});

function requestsAlive(): number {
  Bun.gc(true);
  return heapStats().objectTypeCounts["Request"] ?? 0;
}
