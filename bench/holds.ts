/**
 * How long does it take to answer all of 10,000 parked polls after their document has changed? Through the whole
 * pipeline, with a check of each poll; compared with a bare server that resolves the same number of promises at once.
 */
import { systemTimers } from "../src/system/timers.ts";
import { CrowdProcess, mayConnect } from "../test/fixtures/http/crowd-process.ts";
import { POLL_PATH, PollServer } from "../test/fixtures/http/poll-server.ts";
import { jsonDocument } from "../test/fixtures/http/polls.ts";
import { eventually } from "../test/fixtures/service.ts";
import { type Bench, figure } from "./measurement.ts";

const POLLS = 10_000;
const RUNS = 7;
const TARGET_MS = 1000;
/** About 8 KB, as for 50 bans with their rules. */
const BANS = 50;

interface Parking {
  readonly port: number;
  parked(): number;
  /** The current document. */
  tag(): string;
  change(run: number): void;
  end(): Promise<void>;
}

export const holds: Bench = {
  question: `${POLLS.toLocaleString("en-US")} parked polls woken by one change: last answered`,
  async run() {
    if (!(await mayConnect(POLLS))) return { skipped: `fewer than ${POLLS} open files are allowed` };
    const ours = await wakeUps(ourServer());
    const bare = await wakeUps(bareServer());
    const mine = figure("Floodwall, from the change", ours);
    return [
      {
        question: holds.question,
        unit: "ms",
        ours: mine,
        rival: figure("bare Bun.serve, promises resolved at once", bare),
        target: `≤ ${TARGET_MS} ms`,
        isMet: mine.median <= TARGET_MS,
      },
    ];
  },
};

/** Milliseconds of each run. */
async function wakeUps(server: Parking): Promise<number[]> {
  try {
    const crowd = await CrowdProcess.connect({ port: server.port, count: POLLS, path: POLL_PATH });
    try {
      const times: number[] = [];
      for (let run = 0; run < RUNS; run++) times.push(await wakeUp(server, crowd, run));
      return times;
    } finally {
      await crowd.end();
    }
  } finally {
    await server.end();
  }
}

async function wakeUp(server: Parking, crowd: CrowdProcess, run: number): Promise<number> {
  const { answers } = await crowd.poll(server.tag());
  await eventually(() => server.parked() === POLLS, "not all polls were parked", 60_000);
  const changedAtMs = performance.timeOrigin + performance.now();
  server.change(run);
  const { right, lastAtMs } = await answers;
  if (right !== POLLS) throw new Error(`only ${right} of ${POLLS} polls were answered with the new document`);
  return lastAtMs - changedAtMs;
}

function documentOf(run: number) {
  const rule = { dst: "192.0.2.1/32", proto: 17, src_port: 53, action: "discard" };
  const ban = { target: "192.0.2.1", prefix: "192.0.2.1/32", method: "divert", flowspec: [rule] };
  return jsonDocument({ version: 1, run, bans: Array.from({ length: BANS }, () => ban) });
}

function ourServer(): Parking {
  const server = new PollServer(systemTimers);
  server.caps = () => ({ perToken: POLLS, total: POLLS });
  return {
    port: server.port,
    parked: () => server.holds.size,
    tag: () => server.document.etag,
    change: (run) => server.change(documentOf(run)),
    end: () => server.cut(),
  };
}

function bareServer(): Parking {
  let document = documentOf(-1);
  const parked: ((answer: Response) => void)[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: () => new Promise<Response>((resolve) => parked.push(resolve)),
  });
  return {
    port: server.port ?? 0,
    parked: () => parked.length,
    tag: () => document.etag,
    change: (run) => {
      document = documentOf(run);
      const { etag, body } = document;
      for (const resolve of parked.splice(0)) resolve(new Response(body, { headers: { etag } }));
    },
    end: () => server.stop(true),
  };
}
