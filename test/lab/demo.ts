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
import { NETWORK, THRESHOLD_PPS, World } from "./world.ts";

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
  const world = await World.create({ apiPort: port, hysteresisSeconds: 3, mode: "mirror" });
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
    say.fail(cause instanceof Error ? cause.message : String(cause));
    console.error(`\nthe service's last words:\n${world.service.output.slice(-4000)}`);
    process.exitCode = 1;
  } finally {
    await close();
  }
}

async function showFlood(world: World): Promise<void> {
  const background = world.send({ profile: "mixed", target: "203.0.113.1", hosts: 50, pps: 2000, seconds: 2 });
  await Bun.sleep(1500);
  const hosts = (await world.service.get<{ hosts: unknown[] }>("/api/v1/hosts")).body.hosts.length;
  if (hosts < 50) throw new Error(`background to 50 hosts was sent, but ${hosts} are seen`);
  await background;
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
  await showCounts(world, sent.packets - sent.device_drops);
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

/** What left the attacker was counted or is reported as dropped: nothing is lost in silence. */
async function showCounts(world: World, arrived: number): Promise<void> {
  const totals = await captureTotals(world);
  say.step(
    "counts",
    `${grouped(totals.received)} packets received since the start, ${grouped(totals.dropped)} dropped`,
  );
  if (totals.received + totals.dropped < arrived)
    throw new Error(`${arrived} packets arrived, not all are accounted for`);
}

async function captureTotals(world: World): Promise<{ received: number; dropped: number }> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce((total, m) => total + Number(m[1]), 0);
  void world;
  return { received: sum("svc_capture_received_packets_total"), dropped: sum("svc_capture_dropped_packets_total") };
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
