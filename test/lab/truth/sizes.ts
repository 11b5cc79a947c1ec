/**
 * Floods of every length, at every phase of a step of the history: what the pages of the attack and of the host say, and
 * what the API has, against what was sent.
 */
import type { Page } from "playwright-core";
import type { Chance } from "../../fixtures/seeded-random.ts";
import { eventually } from "../../fixtures/service.ts";
import type { Stage } from "../demo/stage.ts";
import { hostAfter, type Sent, THRESHOLD_PPS, type World } from "../world.ts";
import { difference, firstFigure, type Sized } from "./figures.ts";

const STEP_MS = 10_000;
const ERROR_MAX = 0.05;
/** Of floods that are some ticks long: a tick that comes late on a busy machine is a larger share of them. */
const SHORT_ERROR_MAX = 0.1;
const SHORT_SECONDS = 1;
/** No flood before went to these, so that all of their history is of one flood. */
const FIRST_VICTIM = "203.0.113.170";
const WINDOW_SECONDS = 1;
const TICK_SECONDS = 0.1;
/** Of the sender, from its own clock: a flood that did not come as ordered is no measure of a peak. */
const UNEVEN_MAX = 0.02;

/** This number at once, each to a victim of its own. */
const TOGETHER = 3;

export async function compareSizes(
  stage: Stage,
  world: World,
  { page, lengths, chance }: { readonly page: Page; readonly lengths: readonly number[]; readonly chance: Chance },
): Promise<void> {
  const floods = await sendAll(world, lengths, chance);
  await Bun.sleep(STEP_MS + 2000);
  const wrong: string[] = [];
  let uneven = 0;
  for (const flood of floods) {
    const sized = await sizesOf(world, page, flood.victim);
    const isEven = Math.abs(difference(rateOf(flood.sent), ppsOf(flood.seconds))) < UNEVEN_MAX;
    if (!isEven) uneven++;
    const errorMax = flood.seconds <= SHORT_SECONDS ? SHORT_ERROR_MAX : ERROR_MAX;
    const faults = faultsOf(flood.sent, sized, { isEven, errorMax });
    for (const fault of faults) wrong.push(`${flood.victim}, ${flood.seconds.toFixed(1)} s: ${fault}`);
  }
  for (const line of wrong) stage.step("wrong", line);
  stage.step(
    "sizes",
    `${floods.length} floods of ${Math.min(...lengths)} to ${Math.max(...lengths)} s, ${uneven} sent unevenly`,
  );
  if (uneven > floods.length / 2) throw new Error("most floods were sent unevenly: the machine is too busy");
  if (wrong.length > 0) throw new Error(`${wrong.length} figures are too far off`);
}

interface SentFlood {
  readonly victim: string;
  readonly seconds: number;
  readonly sent: Sent;
}

async function sendAll(world: World, lengths: readonly number[], chance: Chance): Promise<SentFlood[]> {
  const all: SentFlood[] = [];
  const waiting = lengths.map((seconds, i) => ({ seconds, victim: hostAfter(FIRST_VICTIM, i) }));
  const sender = async (lane: number) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await Bun.sleep(chance.below(STEP_MS / 10) + lane * 300);
      const { seconds, victim } = next;
      const pps = ppsOf(seconds);
      const sent = await world.send({ profile: "udp", target: victim, pps, seconds, sources: 100 });
      all.push({ ...next, sent });
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, (_, lane) => sender(lane)));
  return all;
}

/** Over the threshold for a part of the window too. */
function ppsOf(seconds: number): number {
  return Math.round(1.5 * THRESHOLD_PPS * Math.max(1, WINDOW_SECONDS / seconds));
}

function rateOf({ packets, duration_ns: ns }: Sent): number {
  return packets / (ns / 1e9);
}

interface RecentAttack {
  readonly id: string;
  readonly target?: string;
  readonly volume?: { readonly packets: number; readonly peak_pps: number };
}
interface TrafficBody {
  readonly points: readonly { readonly pps: number; readonly seconds: number; readonly max_pps: number }[];
}

/** In the order of places: API, page of the attack, history, page of the host. */
async function sizesOf({ service }: World, page: Page, victim: string): Promise<Sized[]> {
  const { body } = await service.get<{ recent: RecentAttack[] }>("/api/v1/attacks");
  const attack = body.recent.find(({ target }) => target === victim);
  if (attack?.volume === undefined) throw new Error(`no ended attack on ${victim} with a size`);
  const { packets, peak_pps: peak } = attack.volume;
  const history = (await service.get<TrafficBody>(`/api/v1/traffic?key=${victim}&step=10`)).body;
  const sum = history.points.reduce((total, { pps, seconds }) => total + pps * seconds, 0);
  const most = Math.max(0, ...history.points.map(({ max_pps }) => max_pps));
  return [
    { where: "attack in the API", packets, peak, isOfWindow: false },
    { where: "page of the attack", ...(await attackPage(page, attack.id)), isOfWindow: false },
    { where: "history in the API", packets: sum, peak: most, isOfWindow: true },
    { where: "chart of the host", packets: null, peak: await hostPage(page, victim), isOfWindow: true },
  ];
}

async function attackPage(page: Page, id: string): Promise<{ packets: number; peak: number }> {
  await page.evaluate(`location.hash = "#/attacks/${id}"`);
  const fact = async (name: string) => {
    const line = page.locator(".facts > div").filter({ has: page.locator("dt").getByText(name, { exact: true }) });
    return firstFigure((await line.first().locator("dd").textContent()) ?? "");
  };
  await page.waitForURL(`**/attacks/${id}`);
  await page.getByText("Flood lasted").waitFor();
  return { peak: await fact("Peak"), packets: await fact("Total") };
}

async function hostPage(page: Page, victim: string): Promise<number> {
  await page.evaluate(`location.hash = "#/hosts/${victim}"`);
  const chart = page.getByRole("img", { name: new RegExp(`^Incoming rate of ${victim} over time`) });
  let peak = 0;
  await eventually(async () => {
    peak = firstFigure(/at most ([^;]+)/.exec((await chart.getAttribute("aria-label")) ?? "")?.[1] ?? "");
    return peak > 0;
  }, `no chart of ${victim}`);
  return peak;
}

function faultsOf(
  sent: Sent,
  sizes: readonly Sized[],
  { isEven, errorMax }: { readonly isEven: boolean; readonly errorMax: number },
): string[] {
  const arrived = sent.packets - sent.device_drops;
  return sizes.flatMap(({ where, packets, peak, isOfWindow }) => {
    const faults: string[] = [];
    const text = (what: string, is: number, should: number) =>
      `${where}: ${what} ${Math.round(is)}, sent ${Math.round(should)} (${(100 * difference(is, should)).toFixed(1)} %)`;
    if (packets !== null && Math.abs(difference(packets, arrived)) > errorMax)
      faults.push(text("total", packets, arrived));
    // The history has rates over the window, of a flood shorter than it too.
    const rate = isOfWindow ? Math.min(rateOf(sent), sent.packets / WINDOW_SECONDS) : rateOf(sent);
    // Packets that were late came beside those that were not.
    const most = rate * (1 + sent.late_ns / 1e9 / (isOfWindow ? WINDOW_SECONDS : TICK_SECONDS));
    const nearest = Math.min(Math.max(peak, rate), most);
    if (isEven && Math.abs(difference(peak, nearest)) > errorMax) faults.push(text("peak", peak, nearest));
    return faults;
  });
}
