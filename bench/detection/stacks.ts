/**
 * The two systems that are attacked in turn, each in its own namespaces on a veth: Floodwall with AF_XDP, gobgpd and
 * BIRD, and FastNetMon with AF_PACKET and its default settings. Both get the same traffic, networks and threshold. The
 * peer, and who asks it, run at once when they have work: they stand for other machines, which this one's load does not
 * delay.
 */
import { join } from "node:path";
import { eventually, type ServiceProcess } from "../../test/fixtures/service.ts";
import { type Namespace, Namespaces } from "../../test/lab/namespaces.ts";
import { NETWORK, type Sent, sendFrom, THRESHOLD_PPS, type TrafficOptions, World } from "../../test/lab/world.ts";
import { FastNetMon } from "../fastnetmon.ts";

export interface Attacked {
  readonly sent: Sent;
  /** Wall time, ms; null: no reaction in the available time. */
  readonly reactedAtMs: number | null;
  /** null: not known of this system, or another flood was detected meanwhile. */
  readonly steps: Steps | null;
}

/** When the service did what, by its own clock and metrics. */
export interface Steps {
  /** Wall time of the detection, ms. */
  readonly detectedAtMs: number;
  /** From the detection until the announcer has the route, ms. */
  readonly toWantedMs: number;
  /** From then until gobgpd has answered that the route is in the neighbor's out-table, ms. */
  readonly toAnnouncedMs: number;
}

export interface Stack {
  /** Floods the victim, for at most `boundMs`. */
  attack(victim: string, level: Level, boundMs: number): Promise<Attacked>;
  close(): Promise<void>;
}

export interface Level {
  /** Times the threshold. */
  readonly times: number;
  /** p99, ms. */
  readonly targetMs: number;
  /** Duration of our flood, in which we must react; the rival's flood lasts until it reacts. */
  readonly floodSeconds: number;
}

/** The service's default window. */
const WINDOW_MS = 1000;
const API_PORT = 18_083;
/** How long to wait for a reaction to the last packet, ms. */
const GRACE_MS = 500;
/** AF_PACKET gets packets after XDP; without an XDP program live frames would not arrive. */
const XDP_PASS = join(import.meta.dir, "../../build/lab/xdp_pass.bpf.o");

/** The marked packet is the first beyond the threshold. */
function trafficOf(victim: string, { times }: Level, seconds: number): TrafficOptions {
  const mark = (THRESHOLD_PPS * WINDOW_MS) / 1000 + 1;
  return { profile: "udp", target: victim, sources: 1000, pps: times * THRESHOLD_PPS, seconds, mark };
}

/** It has reacted when the route is in the peer's table. */
export async function openFloodwall(): Promise<Stack> {
  const world = await World.create({ apiPort: API_PORT, hysteresisSeconds: 1, mode: "mirror" });
  setScheduler(["--fifo", "-p", "1"], world.bird.pid);
  setScheduler(["--fifo", "-p", "1"], process.pid);
  return {
    async attack(victim, level, boundMs) {
      const seconds = Math.min(level.floodSeconds, boundMs / 1000);
      const before = await announcements(world.service);
      const flood = world.send(trafficOf(victim, level, seconds));
      const isSeen = await seenWithin(() => world.bird.hasRoute(`${victim}/32`), 1000 * seconds + GRACE_MS, 1);
      const nowMs = performance.timeOrigin + performance.now();
      const sent = await flood;
      return { sent, reactedAtMs: isSeen ? nowMs : null, steps: await stepsOf(world.service, victim, before) };
    },
    close: () => {
      setScheduler(["--other", "-p", "0"], process.pid);
      return world.close();
    },
  };
}

/** It has reacted when its ban script runs: an announcement would come after that. */
export async function openFastNetMon(): Promise<Stack> {
  const namespaces = new Namespaces();
  try {
    const [attacker, box] = [namespaces.add("attacker"), namespaces.add("box")];
    namespaces.connect({ namespace: attacker, device: "wire0" }, { namespace: box, device: "mirror0" });
    box.run(["ip", "link", "set", "dev", "mirror0", "xdp", "object", XDP_PASS, "section", "xdp"]);
    const options = { namespace: box, interface: "mirror0", network: NETWORK, thresholdPps: THRESHOLD_PPS };
    const rival = await FastNetMon.start(options);
    return {
      async attack(victim, level, boundMs) {
        const flood = sendFrom(attacker, trafficOf(victim, level, boundMs / 1000));
        await seenWithin(() => rival.bannedAtMs(victim) !== null, boundMs + GRACE_MS, 10);
        endSender(attacker);
        return { sent: await flood, reactedAtMs: rival.bannedAtMs(victim), steps: null };
      },
      async close() {
        await rival.stop();
        namespaces.close();
      },
    };
  } catch (cause) {
    namespaces.close();
    throw cause;
  }
}

/** @param flags of chrt(1). Processes that it starts later get the usual scheduling. */
function setScheduler(flags: readonly string[], pid: number): void {
  const { exitCode, stderr } = Bun.spawnSync(["chrt", "--reset-on-fork", ...flags, String(pid)], { stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`chrt: ${stderr.toString()}`);
}

/** Sums of all announcements so far, seconds. */
interface Announcements {
  readonly count: number;
  readonly sinceDetection: number;
  readonly sinceWanted: number;
}

async function announcements({ port }: ServiceProcess): Promise<Announcements> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return {
    count: metric("svc_detection_to_announcement_seconds_count"),
    sinceDetection: metric("svc_detection_to_announcement_seconds_sum"),
    sinceWanted: metric("svc_bgp_announce_seconds_sum"),
  };
}

async function stepsOf(service: ServiceProcess, victim: string, before: Announcements): Promise<Steps | null> {
  const after = await announcements(service);
  const { body } = await service.get<AttacksWire>("/api/v1/attacks");
  const startedAt = [...body.active, ...body.recent].find(({ target }) => target === victim)?.started_at;
  if (startedAt === undefined || after.count !== before.count + 1) return null;
  const toAnnouncedMs = 1000 * (after.sinceWanted - before.sinceWanted);
  const toWantedMs = 1000 * (after.sinceDetection - before.sinceDetection) - toAnnouncedMs;
  return { detectedAtMs: Date.parse(startedAt), toWantedMs, toAnnouncedMs };
}

interface AttacksWire {
  readonly active: readonly { readonly target?: string; readonly started_at: string }[];
  readonly recent: AttacksWire["active"];
}

function seenWithin(look: () => boolean | Promise<boolean>, ms: number, pauseMs: number): Promise<boolean> {
  return eventually(look, "", ms, pauseMs).then(
    () => true,
    () => false,
  );
}

/** Everything that runs in the attacker's namespace; the sender reports how much it has sent. */
function endSender(attacker: Namespace): void {
  for (const pid of attacker.run(["ip", "netns", "pids", attacker.name]).split("\n").filter(Boolean)) {
    try {
      process.kill(Number(pid), "SIGINT");
    } catch {
      // It has ended by itself in the meantime.
    }
  }
}
