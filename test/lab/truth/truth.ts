/**
 * Is the dashboard right? Floods of all kinds and lengths against a real service, two real BIRDs as neighbors and a
 * real browser: every 100 ms the words on the screen are compared with BIRD's tables and with the API. Nothing may
 * contradict them for longer than 300 ms, also while one of two neighbors is down. Then floods of given lengths, whose
 * sizes are compared with what was sent; and a service that is frozen, and one that is killed: nothing green may stay for more than two seconds.
 * `--floods N`, `--lengths SECONDS,…`, `--seed N`.
 */
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import type { Bird } from "../../fixtures/bgp/bird.ts";
import { TestBrowser } from "../../fixtures/browser/browser.ts";
import { Chance, seededRandom } from "../../fixtures/seeded-random.ts";
import { eventually } from "../../fixtures/service.ts";
import { perform, type Stage } from "../demo/stage.ts";
import { namespacesUnavailable } from "../namespaces.ts";
import {
  DIVERTED,
  FILTERED,
  hostAfter,
  LADDERED,
  sessionUp,
  THRESHOLD_PPS,
  type TrafficOptions,
  World,
} from "../world.ts";
import { type ApiState, ContradictionTimes, contradictions, type Screen } from "./claims.ts";
import { compareSizes } from "./sizes.ts";
import { showSilence } from "./troubles.ts";

const EVERY_MS = 100;
const CONTRADICTION_MAX_MS = 300;
/** Observations farther apart say nothing about what was between them. */
const GAP_MAX_MS = 250;
const GAPS_MAX = 0.05;
const TOGETHER_MAX = 5;
const FLOOD_SECONDS = [0.3, 4] as const;
const TIMES_THRESHOLD = [2, 8] as const;
/** So often a neighbor's session goes down in the middle of floods. */
const SESSION_ENDS_ONE_IN = 4;
const SESSION_DOWN_MS = 1500;
const MORE = { config: "storage: { driver: sqlite }\n", neighbors: 2 } as const;
const API_PORT = Number(process.env["PORT"] ?? 18_081);

/** Cards of a few attacks, rows of more. */
const READ_SCREEN = `(() => {
  const text = (element) => element?.textContent ?? "";
  const cards = [...document.querySelectorAll(".card")].map((card) =>
    ({ victim: text(card.querySelector("h3 a")), state: text(card.querySelector(".effect .badge")) }));
  const rows = [...document.querySelectorAll(".rows-now [role=row], .rows-now tr")].flatMap((row) => {
    const link = row.querySelector("a");
    return link === null ? [] : [{ victim: text(link), state: text(row.querySelector(".badge")) }];
  });
  const situation = [...document.querySelectorAll(".situation a")].map(text).find((part) => /attack/i.test(part)) ?? "";
  return { situation, attacks: [...cards, ...rows] };
})()`;

const { values } = parseArgs({
  options: {
    floods: { type: "string", default: "200" },
    lengths: { type: "string", default: "0.2,0.2,0.2,0.3,0.5,0.5,1,1,1.5,2.3,2.3,3,5,5,7,10,10,15,20,30,60" },
    seed: { type: "string", default: "1" },
  },
});
const unavailable = namespacesUnavailable() ?? ((await TestBrowser.isInstalled()) ? null : "there is no Chromium");
if (unavailable === null) await perform(compare, 1);
else console.log(`skipped: the truth of the dashboard: ${unavailable}`);

interface Observed {
  readonly times: ContradictionTimes;
  observations: number;
  /** Observations that came too late after the one before. */
  gaps: number;
}

async function compare(stage: Stage): Promise<void> {
  const [floods, seed] = [Number(values.floods), Number(values.seed)];
  if (!(floods >= 1)) throw new Error(`--floods: not a number of floods: ${values.floods}`);
  const chance = new Chance(seededRandom(seed));
  const world = await World.create({ apiPort: API_PORT, hysteresisSeconds: 1, mode: "mirror", ...MORE });
  stage.undo.add(() => world.close());
  stage.lastWords = () => world.service.output.slice(-2000);
  const browser = await TestBrowser.start();
  stage.undo.add(() => browser.stop());
  const { page } = await browser.open({ base: `http://127.0.0.1:${API_PORT}` });
  await page.getByText("No attack", { exact: true }).waitFor();

  const observed: Observed = { times: new ContradictionTimes(), observations: 0, gaps: 0 };
  const stop = new AbortController();
  const watching = watch(world, page, observed, stop.signal);
  let done = 0;
  while (done < floods) {
    const count = Math.min(floods - done, 1 + chance.below(TOGETHER_MAX));
    await floodTogether(world, chance, done, count);
    done += count;
    stage.step("truth", `${done} floods, ${observed.observations} observations`);
    const found = observed.times.longerThan(CONTRADICTION_MAX_MS);
    for (const [line, ms] of found) stage.step("wrong", `${line}, for ${ms.toFixed(0)} ms`);
  }
  stop.abort();
  await watching;
  judge(stage, observed, { floods, seed });
  await compareSizes(stage, world, { page, lengths: values.lengths.split(",").map(Number), chance });
  await page.evaluate('location.hash = "#/"');
  await showSilence(stage, world, page, "frozen");
  await showSilence(stage, world, page, "killed");
}

function judge(stage: Stage, { times, observations, gaps }: Observed, run: { floods: number; seed: number }): void {
  const lengths = times.lengthsMs.toSorted((a, b) => a - b);
  const at = (share: number) => (lengths[Math.floor(share * (lengths.length - 1))] ?? 0).toFixed(0);
  stage.step("truth", `${run.floods} floods, seed ${run.seed}: ${observations} observations, ${gaps} of them too late`);
  stage.step(
    "truth",
    `${lengths.length} short contradictions: median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`,
  );
  const wrong = times.longerThan(CONTRADICTION_MAX_MS);
  if (wrong.length > 0) throw new Error(`${wrong.length} contradictions lasted longer than ${CONTRADICTION_MAX_MS} ms`);
  if (gaps > GAPS_MAX * observations) throw new Error(`${gaps} observations came too late: the machine is too busy`);
  if (observations < 10 * run.floods) throw new Error(`only ${observations} observations: the machine is too busy`);
}

/** The first on a group of its own: which mitigation is chance. Resolves when all are over and their routes are gone. */
async function floodTogether(world: World, chance: Chance, before: number, count: number): Promise<void> {
  const floods = Array.from({ length: count }, (_, i) => floodOf(chance, before + i));
  const isSessionLost = chance.oneIn(SESSION_ENDS_ONE_IN);
  const sent = Promise.all(
    floods.map(async (traffic, i) => {
      await Bun.sleep(i * chance.below(500));
      await world.send(traffic);
    }),
  );
  if (isSessionLost) {
    await Bun.sleep(500);
    const bird = chance.oneOf(world.birds);
    await bird.ask("disable floodwall");
    await Bun.sleep(SESSION_DOWN_MS);
    await bird.ask("enable floodwall");
    await sessionUp(bird, world.service);
  }
  await sent;
  await eventually(async () => (await routedIn(world)).every(({ size }) => size === 0), "routes are left", 20_000);
  const isCalm = async () => (await apiState(world)).victims.length === 0;
  await eventually(isCalm, "attacks are left", 20_000);
  // What the screen shows last of them belongs to them.
  await Bun.sleep(400);
}

function floodOf(chance: Chance, number: number): TrafficOptions {
  const pps = Math.round(THRESHOLD_PPS * chance.logarithmic(...TIMES_THRESHOLD));
  const seconds = chance.logarithmic(...FLOOD_SECONDS);
  const turn = Math.floor(number / 4);
  switch (number % 4) {
    case 0:
      return { profile: "dns", target: hostAfter(FILTERED, turn % 6), sources: 200, ports: 1000, pps, seconds };
    case 1:
      return { profile: "udp", target: hostAfter(DIVERTED, turn % 6), sources: 500, pps, seconds };
    case 2:
      return { profile: "syn", target: hostAfter("203.0.113.60", turn % 100), sources: 500, pps, seconds };
    default:
      return {
        profile: "udp",
        target: LADDERED.replace(/7$/, (7 + (turn % 90)).toString(16)),
        sources: 500,
        pps,
        seconds,
      };
  }
}

async function watch(world: World, page: Page, observed: Observed, stop: AbortSignal): Promise<void> {
  let lastMs = performance.now();
  while (!stop.aborted) {
    const [screen, api, routed] = await Promise.all([
      page.evaluate<Screen>(READ_SCREEN),
      apiState(world),
      routedIn(world),
    ]);
    const nowMs = performance.now();
    if (nowMs - lastMs > GAP_MAX_MS) observed.gaps++;
    observed.times.add(contradictions({ screen, api, routed }), nowMs);
    observed.observations++;
    await Bun.sleep(Math.max(0, lastMs + EVERY_MS - performance.now()));
    lastMs = nowMs;
  }
}

interface AttacksBody {
  readonly active: readonly { readonly target?: string }[];
}
interface BansBody {
  readonly bans: readonly { readonly target: string; readonly state: string; readonly announced: boolean }[];
}

async function apiState({ service }: World): Promise<ApiState> {
  const [attacks, bans] = await Promise.all([
    service.get<AttacksBody>("/api/v1/attacks"),
    service.get<BansBody>("/api/v1/bans?state=active"),
  ]);
  const active = bans.body.bans.filter(({ state }) => state === "active");
  return {
    victims: attacks.body.active.flatMap(({ target }) => target ?? []),
    announced: new Map(active.map(({ target, announced }) => [target, announced])),
  };
}

/** By neighbor: the addresses that its BIRD has a route or a rule for. */
function routedIn({ birds }: World): Promise<Set<string>[]> {
  return Promise.all(birds.map(routesOf));
}

async function routesOf(bird: Bird): Promise<Set<string>> {
  const [routes, flows] = await Promise.all([bird.routes(), bird.flows()]);
  const prefixes = [
    ...routes.map(({ prefix }) => prefix),
    ...flows.map(({ match }) => /dst ([^;]+)/.exec(match)?.[1] ?? ""),
  ];
  return new Set(prefixes.map((prefix) => prefix.split("/")[0] ?? ""));
}
