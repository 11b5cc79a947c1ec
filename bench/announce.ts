/** How long does it take to announce 10,000 routes? Beside a bare gRPC stream of the same paths into the same gobgpd. */
import { DEFAULT_TIMES } from "../src/bgp/gobgp-announcer.ts";
import { GobgpClient } from "../src/bgp/gobgp-client.ts";
import { toPaths } from "../src/bgp/route-path.ts";
import type { Route } from "../src/mitigation/announcer.ts";
import { BgpLab, bgpConfig, blackhole, until } from "../test/fixtures/bgp.ts";
import { type Bench, figure } from "./measurement.ts";

const ROUTES = 10_000;
const RUNS = 5;

export const announce: Bench = {
  question: `announce ${ROUTES.toLocaleString("en-US")} routes`,
  async run() {
    const ours: number[] = [];
    const bare: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      ours.push(await rate((lab) => announced(lab)));
      bare.push(await rate((lab) => streamed(lab)));
    }
    const [mine, rival] = [figure("Floodwall, wanted to announced", ours), figure("bare AddPath stream to BIRD", bare)];
    const target = "≥ 0.8 × the bare stream";
    return [
      {
        question: announce.question,
        unit: "routes/s",
        ours: mine,
        rival,
        target,
        isMet: mine.median >= 0.8 * rival.median,
      },
    ];
  },
};

function routes(): Route[] {
  return Array.from({ length: ROUTES }, (_, i) => blackhole(`10.${i >> 8}.${i & 255}.1/32`));
}

async function rate(run: (lab: BgpLab) => Promise<number>): Promise<number> {
  const lab = new BgpLab();
  try {
    return (ROUTES / (await run(lab))) * 1000;
  } finally {
    await lab.end();
  }
}

/** Milliseconds from want() until BIRD has them all. */
async function announced(lab: BgpLab): Promise<number> {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig(), { times: DEFAULT_TIMES });
  await until("session", () => bird.isEstablished("speaker"));
  const startedMs = performance.now();
  announcer.want(routes());
  await until("all routes in BIRD", async () => (await bird.routeCount()) === ROUTES, 60_000);
  return performance.now() - startedMs;
}

/** The same gobgpd and peer, without our reconciliation. */
async function streamed(lab: BgpLab): Promise<number> {
  const bird = await lab.bird();
  lab.announcer(bgpConfig(), { times: DEFAULT_TIMES });
  await until("session", () => bird.isEstablished("speaker"));
  const client = new GobgpClient({ target: { kind: "unix", path: lab.speakerSocket() }, deadlineMs: 30_000 });
  try {
    const paths = [...toPaths(routes())];
    const startedMs = performance.now();
    await client.sendPaths(paths);
    await until("all routes in BIRD", async () => (await bird.routeCount()) === ROUTES, 60_000);
    return performance.now() - startedMs;
  } finally {
    client.close();
  }
}
