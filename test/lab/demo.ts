/**
 * `make start` and `make lab`: shows Floodwall doing its main job, step by step and with times. With --once it runs one
 * flood and exits 0 only if every step was seen; without, it goes on until interrupted. Without root it replays a capture
 * instead, in dry run.
 */
import { parseArgs } from "node:util";
import { eventually } from "../fixtures/service.ts";
import { namespacesUnavailable } from "./namespaces.ts";
import { Narrator } from "./narrator.ts";
import { showReplay } from "./replay-demo.ts";
import { NETWORK, type Sent, THRESHOLD_PPS, World } from "./world.ts";

const VICTIM = "203.0.113.7";
const FLOOD_PPS = 10 * THRESHOLD_PPS;
const FLOOD_SECONDS = 3;
const PAUSE_SECONDS = 10;

interface AttackWire {
  readonly target: string;
  readonly metric: string;
  readonly rate: number;
  readonly threshold: number;
  readonly route?: string;
  readonly ban_state?: string;
  readonly reason: { readonly shares: Record<string, number> };
}

const { values } = parseArgs({ options: { once: { type: "boolean", default: false } } });
const port = Number(process.env["PORT"] ?? 8080);
const say = new Narrator();
const unavailable = namespacesUnavailable();
if (unavailable !== null) {
  console.log(`skipped: the lab on real packets, XDP and BGP: ${unavailable}`);
  await showReplay(say, { port, once: values.once });
} else {
  await showWorld();
}

async function showWorld(): Promise<void> {
  say.step("world", "attacker ── box with Floodwall ── BGP peer with BIRD, in network namespaces of their own");
  const world = await World.create({ apiPort: port, hysteresisSeconds: 3, mode: "mirror" }).catch(told);
  if (world === null) return;
  let isClosing = false;
  const close = async () => {
    if (isClosing) return;
    isClosing = true;
    await world.close();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void close().then(() => process.exit(0)));
  try {
    say.step("ready", `protecting ${NETWORK}; BGP session up; API on http://127.0.0.1:${port}/api/v1/status`);
    do {
      await showFlood(world);
      if (!values.once) say.step("pause", `${PAUSE_SECONDS} s to the next flood; Ctrl-C ends`);
      if (!values.once) await Bun.sleep(PAUSE_SECONDS * 1000);
    } while (!values.once);
    say.step("done", "every step was seen");
  } catch (cause) {
    // Closing pulls the world from under the step in progress.
    if (isClosing) return;
    told(cause);
    console.error(`\nthe service's last words:\n${world.service.output.slice(-4000)}`);
  } finally {
    await close();
  }
}

/** A person reads why: the port is taken, BIRD does not start, … */
function told(cause: unknown): null {
  say.fail(cause instanceof Error ? cause.message : String(cause));
  process.exitCode = 1;
  return null;
}

async function showFlood(world: World): Promise<void> {
  const before = await captureTotals();
  const background = world.send({ profile: "mixed", target: "203.0.113.1", hosts: 50, pps: 2000, seconds: 2 });
  await Bun.sleep(1500);
  const hosts = (await world.service.get<{ hosts: unknown[] }>("/api/v1/hosts")).body.hosts.length;
  if (hosts < 50) throw new Error(`background to 50 hosts was sent, but ${hosts} are seen`);
  const noise = await background;
  say.step("rates", `background traffic: ${hosts} hosts seen, none in attack`);

  say.step(
    "flood",
    `UDP to ${VICTIM}, ${grouped(FLOOD_PPS)} packets/s: ten times the threshold of ${grouped(THRESHOLD_PPS)}`,
  );
  const flood = world.send({ profile: "udp", target: VICTIM, sources: 1000, pps: FLOOD_PPS, seconds: FLOOD_SECONDS });
  const seenAtMs = await Promise.race([routeSeen(world), flood.then(() => routeSeen(world))]);
  say.step("BIRD", `${VICTIM}/32 is in the peer's table`);
  const attack = await activeAttack(world);
  const share = Math.round((attack.reason.shares["udp"] ?? 0) * 100);
  say.step("attack", `${attack.metric} over ${grouped(attack.threshold)}, now ${grouped(attack.rate)}; ${share} % UDP`);
  say.step("ban", `${attack.ban_state}: ${attack.route}`);

  const sent = await flood;
  const latencyMs = seenAtMs - sent.first_packet_wall_ns / 1e6;
  say.step("result", `first flood packet → route in BIRD: ${latencyMs.toFixed(0)} ms`);
  await showCounts(before, [noise, sent]);
  say.step("calm", `the flood is over: ${grouped(sent.packets)} packets sent; waiting for the end of the attack`);
  await eventually(async () => !(await world.bird.hasRoute(`${VICTIM}/32`)), "the route was not withdrawn", 15_000);
  say.step("BIRD", `${VICTIM}/32 is withdrawn`);
  const { recent } = (await world.service.get<{ recent: AttackWire[] }>("/api/v1/attacks")).body;
  if (recent[0]?.ban_state !== "withdrawn") throw new Error("the ended attack does not say that its ban is withdrawn");
  say.step("end", "the attack is over, its ban withdrawn");
}

/** Wall time at which BIRD had the route, ms. */
async function routeSeen(world: World): Promise<number> {
  await eventually(() => world.bird.hasRoute(`${VICTIM}/32`), "no route was seen in BIRD", 5_000);
  return performance.timeOrigin + performance.now();
}

async function activeAttack(world: World): Promise<AttackWire> {
  const { active } = (await world.service.get<{ active: AttackWire[] }>("/api/v1/attacks")).body;
  const attack = active.find(({ target }) => target === VICTIM);
  if (attack === undefined) throw new Error("a route is announced, but the API shows no attack");
  return attack;
}

interface Totals {
  readonly received: number;
  readonly dropped: number;
}

/** What left the attacker was received or is reported as dropped, to the packet: nothing is lost in silence. */
async function showCounts(before: Totals, sent: readonly Sent[]): Promise<void> {
  const arrived = sent.reduce((sum, { packets, device_drops }) => sum + packets - device_drops, 0);
  let received = 0;
  let dropped = 0;
  await eventually(
    async () => {
      const now = await captureTotals();
      received = now.received - before.received;
      dropped = now.dropped - before.dropped;
      return received + dropped === arrived;
    },
    () => `${arrived} packets arrived, but ${received} received and ${dropped} dropped are reported`,
    3_000,
  );
  say.step("counts", `${grouped(arrived)} packets arrived: ${grouped(received)} received, ${grouped(dropped)} dropped`);
}

async function captureTotals(): Promise<Totals> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce((total, m) => total + Number(m[1]), 0);
  return { received: sum("svc_capture_received_packets_total"), dropped: sum("svc_capture_dropped_packets_total") };
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
