/**
 * How soon does the dashboard show its first content, how soon an attack, how long does it take for a frame with a
 * thousand attacks and ten thousand bans, and how much memory does it use?
 */
import { TestBrowser, type TestPage } from "../test/fixtures/browser/browser.ts";
import { crowdWorld } from "../test/fixtures/browser/crowd.ts";
import { BrowserWorld, SECRETS } from "../test/fixtures/browser/world.ts";
import { eventually } from "../test/fixtures/service.ts";
import { type Bench, distribution, figure, type Measurement, type RunOptions } from "./measurement.ts";

const PAINTS = 10;
const USEFUL_MS_MAX = 300;
/** Time of history before the page is opened. */
const HISTORY_MS = 30_000;
const ATTACKS = 100;
const ATTACK_SECONDS = 4;
const VISIBLE_MS_MAX = 300;
const CROWD = 1000;
const BANS = 10_000;
/** Bans that are ordered while the frames of each list are watched; of all there may be, these are the last. */
const CHANGES = 100;
/** A user's browser is on a machine of its own. Here it shares the processors, and so has them first. */
const AFTER_BROWSER = ["nice", "-n", "10"];
const LISTS = [
  ["/", "attacks"],
  ["/mitigation", "bans"],
] as const;
const FRAME_MS_MAX = 50;
const HEAP_MB_MAX = 50;
const HEAP_READINGS = 12;

/** Measured by the page itself: when it shows attacks and the history, when each attack appeared, and its frames. */
const WATCH = `
  window.seen = { usefulMs: null, attacks: {}, framesMs: [] };
  const isUseful = () => document.querySelector(".empty, .card, .rows-now") && document.querySelector(".u-over");
  new MutationObserver(() => {
    if (window.seen.usefulMs === null && isUseful()) window.seen.usefulMs = performance.now();
    for (const link of document.querySelectorAll(".card h3 a, .rows-now a")) {
      window.seen.attacks[link.textContent] ??= Date.now();
    }
  }).observe(document, { subtree: true, childList: true });
  let lastMs = performance.now();
  const frame = (nowMs) => {
    window.seen.framesMs.push(nowMs - lastMs);
    lastMs = nowMs;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);`;

interface Seen {
  readonly usefulMs: number | null;
  /** By victim, wall clock, ms. */
  readonly attacks: Readonly<Record<string, number>>;
  /** From one frame to the next. */
  readonly framesMs: readonly number[];
}

export const dashboardFirst: Bench = {
  question: "dashboard: from opening its address to attacks and history on the screen",
  run: withBrowser(async (browser) => {
    const floods = [
      { vector: "udp_flood", victim: "203.0.113.200", pps: 800, fromSeconds: 0, toSeconds: 120 },
    ] as const;
    const config = "storage: { driver: sqlite, traffic_interval_seconds: 1 }";
    await using world = await BrowserWorld.start({ capture: { floods, seconds: 120 }, config });
    await Bun.sleep(HISTORY_MS);
    const times: number[] = [];
    for (let run = 0; run < PAINTS; run++) times.push(await usefulMs(browser, world));
    const ours = figure("in a browser with an empty cache", times);
    const target = `≤ ${USEFUL_MS_MAX} ms`;
    return [
      {
        question: dashboardFirst.question,
        unit: "ms",
        ours,
        rival: null,
        target,
        isMet: ours.median <= USEFUL_MS_MAX,
      },
    ];
  }),
};

export const dashboardAttack: Bench = {
  question: "dashboard: from an attack's detection to its card",
  run: withBrowser(async (browser) => {
    const floods = Array.from({ length: ATTACKS }, (_, i) => ({
      vector: "udp_flood" as const,
      victim: `203.0.113.${100 + i}`,
      pps: 800,
      fromSeconds: 6 + 0.537 * i,
      toSeconds: 6 + 0.537 * i + ATTACK_SECONDS,
    }));
    await using world = await BrowserWorld.start({ capture: { floods, seconds: 70 } });
    const { page } = await watched(browser, world.base);
    const seen = () => page.evaluate<Seen>("window.seen");
    await eventually(async () => Object.keys((await seen()).attacks).length === ATTACKS, "attacks are missing", 90_000);
    const { attacks } = await seen();
    const { body } = await world.service.get<{ active: StartedAttack[]; recent: StartedAttack[] }>(
      "/api/v1/attacks",
      SECRETS.operator,
    );
    const ours = distribution(
      "by the stream of events",
      [...body.active, ...body.recent].map(
        ({ target, started_at: at }) => (attacks[target] ?? Number.NaN) - Date.parse(at),
      ),
    );
    const target = `p99 ≤ ${VISIBLE_MS_MAX} ms`;
    return [
      {
        question: dashboardAttack.question,
        unit: "ms",
        ours,
        rival: null,
        target,
        isMet: (ours.tail?.p99 ?? Number.NaN) <= VISIBLE_MS_MAX,
      },
    ];
  }),
};

interface StartedAttack {
  readonly target: string;
  readonly started_at: string;
}

export const dashboardFrames: Bench = {
  question: `dashboard: the longest frame while ${CROWD} attacks and ${BANS} bans change, with the service behind the browser`,
  run: withBrowser(async (browser) => {
    const crowd = crowdWorld(CROWD, 180);
    const base = `${crowd.base}\n`
      .replace("networks: [", "networks: [198.18.0.0/15, ")
      .replace(/max_active_bans: \d+/, `max_active_bans: ${BANS}`);
    await using world = await BrowserWorld.start({ ...crowd, base, runner: AFTER_BROWSER });
    await eventually(async () => (await activeAttacks(world)) === CROWD, "attacks are missing", 30_000);
    for (let first = 0; first < BANS - CROWD - LISTS.length * CHANGES; first += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => ban(world, first + i)));
    }
    const rows: Measurement[] = [];
    for (const [place, what] of LISTS) {
      rows.push(await framesMeasurement(browser, world, { place, what, from: BANS + rows.length * CHANGES }));
    }
    return rows;
  }),
};

interface FramesOrder {
  readonly place: string;
  readonly what: string;
  /** Number of the first ban that is ordered while frames are watched. */
  readonly from: number;
}

/** The first second, in which the page is built, does not count: a list that changes does. */
async function framesMeasurement(browser: TestBrowser, world: BrowserWorld, { place, what, from }: FramesOrder) {
  const { page, context } = await watched(browser, world.base, place);
  await page.locator("table[aria-rowcount]").first().waitFor();
  await Bun.sleep(3000);
  await page.evaluate("window.seen.framesMs.length = 0");
  for (let i = 0; i < CHANGES; i++) {
    await ban(world, from + i);
    await Bun.sleep(100);
  }
  const { framesMs } = await page.evaluate<Seen>("window.seen");
  await context.close();
  const ours = distribution(`${framesMs.length} frames`, framesMs);
  return {
    question: `${dashboardFrames.question}: ${what}`,
    unit: "ms",
    ours,
    rival: null,
    target: `≤ ${FRAME_MS_MAX} ms at most`,
    isMet: ours.most <= FRAME_MS_MAX,
  };
}

async function activeAttacks({ service }: BrowserWorld): Promise<number> {
  const { body } = await service.get<{ active: unknown[] }>("/api/v1/attacks", SECRETS.operator);
  return body.active.length;
}

async function ban({ service }: BrowserWorld, number: number): Promise<void> {
  const ip = `198.18.${number >> 8}.${number & 255}`;
  const { status, body } = await service.post("/api/v1/ban", { ip }, SECRETS.operator);
  if (status !== 200) throw new Error(`ban ${ip}: ${status} ${JSON.stringify(body)}`);
}

export const dashboardHeap: Bench = {
  question: "dashboard: its heap under a thousand attacks",
  run: withBrowser(async (browser, { isQuick }) => {
    const seconds = isQuick ? 60 : 240;
    await using world = await BrowserWorld.start(crowdWorld(CROWD, seconds + 60));
    const opened = await watched(browser, world.base, "/attacks");
    await opened.page.getByText(String(CROWD), { exact: true }).waitFor({ timeout: 30_000 });
    const heaps = await heapsMb(opened, seconds);
    return [heapMeasurement(heaps, seconds)];
  }),
};

function heapMeasurement(heaps: readonly number[], seconds: number): Measurement {
  const ours = figure(`after each collection, over ${seconds} s`, heaps);
  const growth = (heaps.at(-1) ?? Number.NaN) - (heaps[Math.floor(heaps.length / 2)] ?? Number.NaN);
  return {
    question: dashboardHeap.question,
    unit: "MB",
    ours,
    rival: null,
    target: `≤ ${HEAP_MB_MAX} MB`,
    isMet: ours.most <= HEAP_MB_MAX,
    details: [`In its second half the heap changed by ${growth.toFixed(1)} MB.`],
  };
}

async function heapsMb({ context, page }: TestPage, seconds: number): Promise<number[]> {
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const heaps: number[] = [];
  for (let reading = 0; reading < HEAP_READINGS; reading++) {
    await Bun.sleep((seconds * 1000) / HEAP_READINGS);
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    heaps.push((metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN) / 1e6);
  }
  return heaps;
}

async function usefulMs(browser: TestBrowser, world: BrowserWorld): Promise<number> {
  const { page, context } = await watched(browser, world.base);
  await page.locator(".u-over").first().waitFor();
  await page.locator(".card").first().waitFor();
  const { usefulMs: ms } = await page.evaluate<Seen>("window.seen");
  await context.close();
  return ms ?? Number.NaN;
}

async function watched(browser: TestBrowser, base: string, place = "/"): Promise<TestPage> {
  return browser.open({ base, place, secret: SECRETS.operator, script: WATCH });
}

function withBrowser(
  measure: (browser: TestBrowser, options: RunOptions) => Promise<readonly Measurement[]>,
): Bench["run"] {
  return async (options) => {
    if (!(await TestBrowser.isInstalled())) return { skipped: "there is no Chromium: `make test` installs it" };
    const browser = await TestBrowser.start();
    try {
      return await measure(browser, options);
    } finally {
      await browser.stop();
    }
  };
}
