/**
 * Floods of all kinds, again and again, each blackholed, filtered or diverted, with manual bans and reloads in between:
 * every route and every rule must come and go, and memory must stay flat. `--minutes N`; memory is judged from MINUTES_FOR_MEMORY on, before that it is only shown.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { eventually } from "../fixtures/service.ts";
import { StolenTime } from "../fixtures/stolen-time.ts";
import { Narrator } from "./demo/narrator.ts";
import { perform, type Stage } from "./demo/stage.ts";
import { namespacesUnavailable } from "./namespaces.ts";
import { DIVERTED, FILTERED, THRESHOLD_PPS, type TrafficOptions, World } from "./world.ts";

const MINUTES_FOR_MEMORY = 5;
/** The last quarter's median may exceed the second quarter's by so much. */
const GROWTH_MAX = 1.1;
/** More of them, and the soak shows nothing. */
const UNSENT_MAX = 20;
/** From the end of a flood: the hysteresis, and time for a busy machine. */
const WITHDRAWN_MS = 15_000;
const STOLEN_MAX = 0.2;
const SHOW_EVERY_MS = 30_000;
const API_PORT = Number(process.env["PORT"] ?? 18_080);

const { values } = parseArgs({ options: { minutes: { type: "string", default: "15" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error(`--minutes: not a number of minutes: ${values.minutes}`);
const unavailable = namespacesUnavailable();
const say = new Narrator();
if (unavailable === null) await perform({ say, show: soak, codeAtInterrupt: 1 });
else console.log(`skipped: soak: ${unavailable}`);

interface Tally {
  cycles: number;
  manualBans: number;
  reloads: number;
  /** Floods that the machine was too busy to send, or to see. */
  unsent: number;
  readonly rssMb: number[];
}

async function soak(stage: Stage): Promise<void> {
  const world = await World.create({ apiPort: API_PORT, hysteresisSeconds: 1, mode: "mirror" });
  const tally: Tally = { cycles: 0, manualBans: 0, reloads: 0, unsent: 0, rssMb: [] };
  stage.undo.push(() => world.close());
  stage.lastWords = () => `after ${tally.cycles} cycles\n${world.service.output.slice(-4000)}`;
  const end = performance.now() + minutes * 60_000;
  let shown = 0;
  while (performance.now() < end) {
    await cycle(world, tally);
    if (performance.now() - shown < SHOW_EVERY_MS) continue;
    shown = performance.now();
    say.step("soak", `${tally.cycles} floods, each banned and lifted; service ${tally.rssMb.at(-1)?.toFixed(0)} MB`);
  }
  await expectNothingLeft(world, tally);
  say.step(
    "soak",
    `${tally.cycles} floods, ${tally.manualBans} manual bans, ${tally.reloads} reloads, ${tally.unsent} floods not sent or not seen; no route is left`,
  );
  judgeMemory(tally.rssMb);
}

/** One flood, and where its mitigation shows. */
interface Flood {
  readonly traffic: TrafficOptions;
  /** What is announced for it. */
  readonly announced: string;
  readonly isAnnounced: (bird: Bird) => Promise<boolean>;
}

function flooding(cycle: number): Flood {
  const round = Math.floor(cycle / 4);
  const unicast = (target: string) => ({
    traffic: { profile: "udp", target, sources: 500, pps: 10 * THRESHOLD_PPS, seconds: 0.5 } as const,
    announced: `${target}/32`,
    isAnnounced: (bird: Bird) => bird.hasRoute(`${target}/32`),
  });
  switch (cycle % 4) {
    case 1: {
      const target = hostAfter(FILTERED, round % 6);
      return {
        // Answers of many resolvers to many ports, for as long as it takes to tell what they are.
        traffic: { profile: "dns", target, sources: 200, ports: 1000, pps: 2 * THRESHOLD_PPS, seconds: 1.5 },
        announced: `the rule of ${target}`,
        isAnnounced: async (bird) => (await bird.flows()).some(({ match }) => match.includes(`dst ${target}/32;`)),
      };
    }
    case 3:
      return unicast(hostAfter(DIVERTED, round % 6));
    default:
      return unicast(hostAfter("203.0.113.60", cycle % 100));
  }
}

function hostAfter(first: string, offset: number): string {
  const dot = first.lastIndexOf(".") + 1;
  return `${first.slice(0, dot)}${Number(first.slice(dot)) + offset}`;
}

async function cycle(world: World, tally: Tally): Promise<void> {
  const { traffic, announced, isAnnounced } = flooding(tally.cycles);
  const stolen = new StolenTime();
  const flood = world.send(traffic);
  try {
    await eventually(() => isAnnounced(world.bird), `${announced} was not announced`, 5_000);
  } catch (cause) {
    const { packets } = await flood;
    const isAttack = packets > THRESHOLD_PPS * Math.max(1, traffic.seconds);
    if (isAttack && stolen.share < STOLEN_MAX) {
      throw new Error(`${announced} was not announced, ${packets} packets were sent`, { cause });
    }
    // The sender did not get the CPU, and nobody was attacked; or the service did not, as its hypervisor had it.
    if (++tally.unsent > UNSENT_MAX)
      throw new Error(`a flood of ${packets} packets was not seen: is the machine busy?`);
    return;
  }
  await flood;
  if (tally.cycles % 5 === 0) await manualBan(world, tally);
  if (tally.cycles % 10 === 0) {
    world.service.signal("SIGHUP");
    tally.reloads++;
  }
  await eventually(async () => !(await isAnnounced(world.bird)), `${announced} was not withdrawn`, WITHDRAWN_MS);
  tally.cycles++;
  tally.rssMb.push(rssMb(world.service.pid));
}

async function manualBan(world: World, tally: Tally): Promise<void> {
  const ip = hostAfter("203.0.113.200", tally.manualBans % 40);
  const ban = await world.service.post("/api/v1/ban", { ip });
  if (ban.status !== 200) throw new Error(`ban ${ip}: ${ban.status} ${JSON.stringify(ban.body)}`);
  await eventually(() => world.bird.hasRoute(`${ip}/32`), `${ip}/32 was not announced`, 5_000);
  const unban = await world.service.post("/api/v1/unban", { ip });
  if (unban.status !== 200) throw new Error(`unban ${ip}: ${unban.status} ${JSON.stringify(unban.body)}`);
  await eventually(async () => !(await world.bird.hasRoute(`${ip}/32`)), `${ip}/32 was not withdrawn`, 5_000);
  tally.manualBans++;
}

async function expectNothingLeft(world: World, tally: Tally): Promise<void> {
  let left: string[] = [];
  const isNothingLeft = async () => {
    const routes = (await world.bird.routes()).map(({ prefix }) => prefix);
    left = [...routes, ...(await world.bird.flows()).map(({ match }) => match)];
    return left.length === 0;
  };
  // A flood that was not seen in time may be seen later.
  await eventually(isNothingLeft, () => `routes left: ${left.join(", ")}`, tally.unsent === 0 ? 0 : WITHDRAWN_MS);
  const { bans } = (await world.service.get<{ bans: { state: string; reason?: string }[] }>("/api/v1/bans")).body;
  const withdrawn = bans.filter(({ state }) => state === "withdrawn").length;
  const least = Math.min(1000, tally.cycles + tally.manualBans);
  if (withdrawn < least || withdrawn > least + tally.unsent || bans.length !== withdrawn) {
    throw new Error(`${least} bans should be on record as withdrawn, ${withdrawn} of ${bans.length} are`);
  }
}

/** Throws when it grows. */
function judgeMemory(rss: readonly number[]): void {
  const quarter = Math.floor(rss.length / 4);
  const [early, late] = [median(rss.slice(quarter, 2 * quarter)), median(rss.slice(-quarter))];
  const verdict = `memory: ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} MB in the last`;
  if (minutes < MINUTES_FOR_MEMORY) {
    say.step("soak", `${verdict} (not judged in less than ${MINUTES_FOR_MEMORY} minutes)`);
  } else if (late <= early * GROWTH_MAX) {
    say.step("soak", verdict);
  } else throw new Error(`${verdict}: it grows`);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function rssMb(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) / 1024;
}
