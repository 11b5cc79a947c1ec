/**
 * The two systems that are attacked in turn, each in its own namespaces on a veth: Floodwall with AF_XDP, gobgpd and
 * BIRD, and FastNetMon with AF_PACKET and its default settings. Both get the same traffic, networks and threshold.
 */
import { join } from "node:path";
import { eventually } from "../../test/fixtures/service.ts";
import { type Namespace, Namespaces } from "../../test/lab/namespaces.ts";
import { NETWORK, type Sent, sendFrom, THRESHOLD_PPS, type TrafficOptions, World } from "../../test/lab/world.ts";
import { FastNetMon } from "../fastnetmon.ts";

export interface Attacked {
  readonly sent: Sent;
  /** Wall time, ms; null: no reaction in the available time. */
  readonly reactedAtMs: number | null;
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

const API_PORT = 18_083;
/** How long to wait for a reaction to the last packet, ms. */
const GRACE_MS = 500;
/** AF_PACKET gets packets after XDP; without an XDP program live frames would not arrive. */
const XDP_PASS = join(import.meta.dir, "../../build/lab/xdp_pass.bpf.o");

function trafficOf(victim: string, { times }: Level, seconds: number): TrafficOptions {
  return { profile: "udp", target: victim, sources: 1000, pps: times * THRESHOLD_PPS, seconds };
}

/** It has reacted when the route is in the peer's table. */
export async function openFloodwall(): Promise<Stack> {
  const world = await World.create({ apiPort: API_PORT, hysteresisSeconds: 1, mode: "mirror" });
  return {
    async attack(victim, level, boundMs) {
      const seconds = Math.min(level.floodSeconds, boundMs / 1000);
      const flood = world.send(trafficOf(victim, level, seconds));
      const isSeen = await seenWithin(() => world.bird.hasRoute(`${victim}/32`), 1000 * seconds + GRACE_MS, 1);
      const nowMs = performance.timeOrigin + performance.now();
      return { sent: await flood, reactedAtMs: isSeen ? nowMs : null };
    },
    close: () => world.close(),
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
        return { sent: await flood, reactedAtMs: rival.bannedAtMs(victim) };
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
