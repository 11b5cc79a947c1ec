/**
 * How long does it take to announce 10,000 routes, and 1,000 FlowSpec rules? Compared with a bare gRPC stream of the
 * same paths to the same gobgpd.
 */

import { DEFAULT_TIMES } from "../src/bgp/gobgp-announcer.ts";
import { sendable, toPaths } from "../src/bgp/route-path.ts";
import type { Route } from "../src/mitigation/announcer.ts";
import { exactly } from "../src/net/range.ts";
import { BgpLab, bgpConfig, blackhole, flow, INSTANCE, until } from "../test/fixtures/bgp/bgp.ts";
import type { Bird } from "../test/fixtures/bgp/bird.ts";
import { type Bench, compared, figure, type Measurement } from "./measurement.ts";

const RUNS = 5;

interface Load {
  readonly question: string;
  readonly unit: string;
  readonly routes: () => readonly Route[];
  readonly received: (bird: Bird) => Promise<number>;
}

const LOADS: readonly [Load, Load] = [
  {
    question: "announce 10,000 routes",
    unit: "routes/s",
    routes: () => Array.from({ length: 10_000 }, (_, i) => blackhole(`10.${i >> 8}.${i & 255}.1/32`)),
    received: (bird) => bird.routeCount(),
  },
  {
    question: "announce 1,000 FlowSpec rules",
    unit: "rules/s",
    routes: () =>
      Array.from({ length: 1_000 }, (_, i) =>
        flow(`10.0.${i >> 8}.${i & 255}/32`, {
          protocols: exactly(17),
          sourcePorts: [{ from: 53, to: 53 }],
          packetLengths: [{ from: 1_000, to: 1_500 }],
        }),
      ),
    received: (bird) => bird.flowCount(),
  },
];

export const announce: Bench = {
  question: LOADS.map(({ question }) => question).join("; "),
  async run() {
    const measurements: Measurement[] = [];
    for (const load of LOADS) measurements.push(await measure(load));
    return measurements;
  },
};

async function measure(load: Load): Promise<Measurement> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    ours.push(await rate(load, announced));
    bare.push(await rate(load, streamed));
  }
  return compared({
    question: load.question,
    unit: load.unit,
    ours: figure("Floodwall, wanted to announced", ours),
    rival: figure("bare AddPath stream to BIRD", bare),
    ratioMin: 0.8,
  });
}

/** @param run returns the milliseconds until BIRD has all routes. */
async function rate(load: Load, run: (lab: BgpLab, load: Load) => Promise<number>): Promise<number> {
  const lab = new BgpLab();
  try {
    return (load.routes().length / (await run(lab, load))) * 1000;
  } finally {
    await lab.end();
  }
}

/** Measured from want() on. */
async function announced(lab: BgpLab, load: Load): Promise<number> {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig(), { times: DEFAULT_TIMES });
  await until("session", () => bird.isEstablished("speaker"));
  const routes = load.routes();
  const startedMs = performance.now();
  announcer.want(routes);
  await allIn(bird, load);
  return performance.now() - startedMs;
}

/** The same gobgpd and peer, without our reconciliation. */
async function streamed(lab: BgpLab, load: Load): Promise<number> {
  const bird = await lab.bird();
  lab.announcer(bgpConfig(), { times: DEFAULT_TIMES });
  await until("session", () => bird.isEstablished("speaker"));
  return lab.withSpeaker(async (client) => {
    const paths = [
      ...toPaths(
        load.routes().map((route) => sendable(route)),
        INSTANCE,
      ),
    ];
    const startedMs = performance.now();
    // The routes in BIRD are counted all the while, as for the other figure: each count takes CPU time from the speaker.
    await Promise.all([client.sendPaths(paths), allIn(bird, load)]);
    return performance.now() - startedMs;
  });
}

async function allIn(bird: Bird, load: Load): Promise<void> {
  const count = load.routes().length;
  await until("all in BIRD", async () => (await load.received(bird)) === count, 60_000);
}
