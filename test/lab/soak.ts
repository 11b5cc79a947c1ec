/**
 * Floods of all kinds, again and again, each blackholed, filtered or diverted, with manual bans and reloads in between:
 * every route and every rule must come and go, and memory must stay flat. `--minutes N`; memory is judged from
 * MINUTES_FOR_MEMORY on, before that it is only shown.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { eventually } from "../fixtures/service.ts";
import { StolenTime } from "../fixtures/stolen-time.ts";
import { perform, type Stage } from "./demo/stage.ts";
import { namespacesUnavailable } from "./namespaces.ts";
import { DIVERTED, FILTERED, hostAfter, THRESHOLD_PPS, type TrafficOptions, World } from "./world.ts";

const MINUTES_FOR_MEMORY = 5;
/** The last quarter's median may exceed the second quarter's by so much. */
const GROWTH_MAX = 1.1;
/** More of them, and the soak shows nothing. */
const UNSENT_MAX = 20;
const ANNOUNCED_MS = 5_000;
/** From the end of a flood: the hysteresis, and time for a busy machine. */
const WITHDRAWN_MS = 15_000;
const STOLEN_MAX = 0.2;
const SHOW_EVERY_MS = 30_000;
const API_PORT = Number(process.env["PORT"] ?? 18_080);

const { values } = parseArgs({ options: { minutes: { type: "string", default: "15" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error(`--minutes: not a number of minutes: ${values.minutes}`);
const unavailable = namespacesUnavailable();
if (unavailable === null) await perform(soak, 1);
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
  stage.undo.add(() => world.close());
  stage.lastWords = () => `after ${tally.cycles} cycles\n${world.service.output.slice(-4000)}`;
  const end = performance.now() + minutes * 60_000;
  for (let shown = 0; performance.now() < end; ) {
    await cycle(world, tally);
    if (performance.now() - shown < SHOW_EVERY_MS) continue;
    shown = performance.now();
    stage.step("soak", `${tally.cycles} floods, each banned and lifted; service ${tally.rssMb.at(-1)?.toFixed(0)} MB`);
  }
  await expectNothingLeft(world, tally);
  const { cycles, manualBans, reloads, unsent, rssMb } = tally;
  const counts = `${cycles} floods, ${manualBans} manual bans, ${reloads} reloads`;
  stage.step("soak", `${counts}, ${unsent} floods not sent or not seen; no route is left`);
  stage.step("soak", memoryVerdict(rssMb));
}

/** One flood, and where its mitigation shows. */
interface Flood {
  readonly traffic: TrafficOptions;
  readonly isAnnounced: (bird: Bird) => Promise<boolean>;
}

function flooding(cycle: number): Flood {
  const [kind, host] = [cycle % 4, Math.floor(cycle / 4) % 6];
  if (kind === 1) {
    const target = hostAfter(FILTERED, host);
    return {
      // Answers of many resolvers to many ports, for as long as their classification takes.
      traffic: { profile: "dns", target, sources: 200, ports: 1000, pps: 2 * THRESHOLD_PPS, seconds: 1.5 },
      isAnnounced: async (bird) => (await bird.flows()).some(({ match }) => match.includes(`dst ${target}/32;`)),
    };
  }
  const target = kind === 3 ? hostAfter(DIVERTED, host) : hostAfter("203.0.113.60", cycle % 100);
  return {
    traffic: { profile: "udp", target, sources: 500, pps: 10 * THRESHOLD_PPS, seconds: 0.5 },
    isAnnounced: (bird) => bird.hasRoute(`${target}/32`),
  };
}

async function cycle({ bird, service, send }: World, tally: Tally): Promise<void> {
  const { traffic, isAnnounced } = flooding(tally.cycles);
  const what = `what stops a flood to ${traffic.target} (${traffic.profile})`;
  const stolen = new StolenTime();
  const flood = send(traffic);
  try {
    await eventually(() => isAnnounced(bird), `${what} was not announced`, ANNOUNCED_MS);
  } catch (cause) {
    const { packets } = await flood;
    const isAttack = packets > THRESHOLD_PPS * Math.max(1, traffic.seconds);
    if (isAttack && stolen.share < STOLEN_MAX) throw new Error(`${packets} packets were sent, but ${String(cause)}`);
    // The sender did not get the CPU, and no host was attacked; or the service did not, as its hypervisor had it.
    if (++tally.unsent <= UNSENT_MAX) return;
    throw new Error(`a flood of ${packets} packets was not seen: is the machine busy?`);
  }
  await flood;
  if (tally.cycles % 5 === 0) await manualBan({ bird, service }, tally);
  if (tally.cycles % 10 === 0) {
    service.signal("SIGHUP");
    tally.reloads++;
  }
  await eventually(async () => !(await isAnnounced(bird)), `${what} was not withdrawn`, WITHDRAWN_MS);
  tally.cycles++;
  tally.rssMb.push(rssMb(service.pid));
}

async function manualBan({ bird, service }: Pick<World, "bird" | "service">, tally: Tally): Promise<void> {
  const ip = hostAfter("203.0.113.200", tally.manualBans % 40);
  for (const order of ["ban", "unban"]) {
    const { status, body } = await service.post(`/api/v1/${order}`, { ip });
    if (status !== 200) throw new Error(`${order} ${ip}: ${status} ${JSON.stringify(body)}`);
    const isDone = async () => (await bird.hasRoute(`${ip}/32`)) === (order === "ban");
    await eventually(isDone, `the ${order} of ${ip} is not seen in BIRD`, ANNOUNCED_MS);
  }
  tally.manualBans++;
}

async function expectNothingLeft({ bird, service }: World, tally: Tally): Promise<void> {
  let left: string[] = [];
  const isNothingLeft = async () => {
    const routes = (await bird.routes()).map(({ prefix }) => prefix);
    left = [...routes, ...(await bird.flows()).map(({ match }) => match)];
    return left.length === 0;
  };
  // A flood that was not seen in time may be seen later.
  await eventually(isNothingLeft, () => `routes left: ${left.join(", ")}`, tally.unsent === 0 ? 0 : WITHDRAWN_MS);
  const { bans } = (await service.get<{ bans: { state: string }[] }>("/api/v1/bans")).body;
  const withdrawn = bans.filter(({ state }) => state === "withdrawn").length;
  const least = Math.min(1000, tally.cycles + tally.manualBans);
  if (withdrawn < least || withdrawn > least + tally.unsent || bans.length !== withdrawn) {
    throw new Error(`${least} bans should be on record as withdrawn, ${withdrawn} of ${bans.length} are`);
  }
}

/** Throws when it grows. */
function memoryVerdict(rss: readonly number[]): string {
  const quarter = Math.floor(rss.length / 4);
  const [early, late] = [median(rss.slice(quarter, 2 * quarter)), median(rss.slice(-quarter))];
  const verdict = `memory: ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} MB in the last`;
  if (minutes < MINUTES_FOR_MEMORY) return `${verdict} (not judged in less than ${MINUTES_FOR_MEMORY} minutes)`;
  if (late <= early * GROWTH_MAX) return verdict;
  throw new Error(`${verdict}: it grows`);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function rssMb(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) / 1024;
}
