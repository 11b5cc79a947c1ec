/**
 * How soon does the dashboard show its first content, how soon an attack, and how much memory does it use with a
 * thousand attacks?
 */
import { TestBrowser, type TestPage } from "../test/fixtures/browser/browser.ts";
import { crowdWorld } from "../test/fixtures/browser/crowd.ts";
import { BrowserWorld, SECRETS } from "../test/fixtures/browser/world.ts";
import { eventually } from "../test/fixtures/service.ts";
import { type Bench, distribution, figure, type Measurement, type RunOptions } from "./measurement.ts";

const PAINTS = 10;
const USEFUL_MS_MAX = 1000;
const ATTACKS = 12;
const VISIBLE_MS_MAX = 500;
const CROWD = 1000;
const HEAP_MB_MAX = 50;
const HEAP_READINGS = 12;

/** Measured by the page itself: when it shows its first content, and when each attack appeared. */
const WATCH = `
  window.seen = { usefulMs: null, attacks: {} };
  new MutationObserver(() => {
    if (window.seen.usefulMs === null && document.querySelector(".empty, .card")) window.seen.usefulMs = performance.now();
    for (const link of document.querySelectorAll(".card h3 a")) window.seen.attacks[link.textContent] ??= Date.now();
  }).observe(document, { subtree: true, childList: true });`;

interface Seen {
  readonly usefulMs: number | null;
  /** By victim, wall clock, ms. */
  readonly attacks: Readonly<Record<string, number>>;
}

export const dashboardFirst: Bench = {
  question: "dashboard: from opening its address to its first content",
  run: withBrowser(async (browser) => {
    const world = await BrowserWorld.start();
    try {
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
    } finally {
      await world.stop();
    }
  }),
};

export const dashboardAttack: Bench = {
  question: "dashboard: from an attack's detection to its card",
  run: withBrowser(async (browser) => {
    const floods = Array.from({ length: ATTACKS }, (_, i) => ({
      vector: "udp_flood" as const,
      victim: `203.0.113.${200 + i}`,
      pps: 800,
      fromSeconds: 6 + 1.37 * i,
      toSeconds: 40,
    }));
    const world = await BrowserWorld.start({ capture: { floods, seconds: 40 } });
    try {
      const { page } = await watched(browser, world.base);
      const seen = () => page.evaluate<Seen>("window.seen");
      await eventually(
        async () => Object.keys((await seen()).attacks).length === ATTACKS,
        "attacks are missing",
        60_000,
      );
      const { attacks } = await seen();
      const { body } = await world.service.get<{ active: { target: string; started_at: string }[] }>(
        "/api/v1/attacks",
        SECRETS.operator,
      );
      const ours = distribution(
        "by the stream of events",
        body.active.map(({ target, started_at: at }) => (attacks[target] ?? Number.NaN) - Date.parse(at)),
      );
      const target = `≤ ${VISIBLE_MS_MAX} ms at most`;
      return [
        {
          question: dashboardAttack.question,
          unit: "ms",
          ours,
          rival: null,
          target,
          isMet: ours.most <= VISIBLE_MS_MAX,
        },
      ];
    } finally {
      await world.stop();
    }
  }),
};

export const dashboardHeap: Bench = {
  question: "dashboard: its heap under a thousand attacks",
  run: withBrowser(async (browser, { isQuick }) => {
    const seconds = isQuick ? 60 : 240;
    const world = await BrowserWorld.start(crowdWorld(CROWD, seconds + 60));
    try {
      const opened = await watched(browser, world.base, "/attacks");
      await opened.page.getByText(String(CROWD), { exact: true }).waitFor({ timeout: 30_000 });
      const heaps = await heapsMb(opened, seconds);
      return [heapMeasurement(heaps, seconds)];
    } finally {
      await world.stop();
    }
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
  await page.locator(".empty, .card").first().waitFor();
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
