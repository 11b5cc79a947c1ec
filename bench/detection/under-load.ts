/**
 * Does each flood get its route while other processes want all CPUs? Floods of ten times the threshold, each on another
 * victim, beside two busy processes for each CPU.
 */
import { availableParallelism } from "node:os";
import { namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { THRESHOLD_PPS } from "../../test/lab/world.ts";
import { type Bench, distribution } from "../measurement.ts";
import { type Level, openFloodwall } from "./stacks.ts";

const LEVEL: Level = { times: 10, targetMs: 1500, floodSeconds: 1 };
/** A stack's victims; the service is opened again for the next ones. */
const BLOCK = 50;
const LENGTHS = { whole: 200, quick: 20 };
const HOGS_PER_CPU = 2;
const BOUND_MS = 15_000;
/** A sender that hardly ran sent no flood. */
const SENT_SHARE_MIN = 0.5;

export const detectionUnderLoad: Bench = {
  question: `first attack packet to route, beside ${HOGS_PER_CPU} busy processes for each CPU`,
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    const floods = isQuick ? LENGTHS.quick : LENGTHS.whole;
    const hogs = Array.from({ length: HOGS_PER_CPU * availableParallelism() }, busyProcess);
    const reactions: number[] = [];
    const missed: string[] = [];
    let unsent = 0;
    try {
      for (let from = 0; from < floods; from += BLOCK) {
        const stack = await openFloodwall();
        try {
          for (let i = 0; i < Math.min(BLOCK, floods - from); i++) {
            await Bun.sleep(Math.random() * 1000);
            const victim = `203.0.113.${60 + i}`;
            const { sent, reactedAtMs } = await stack.attack(victim, LEVEL, BOUND_MS);
            const share = ((sent.packets - sent.device_drops) * 1e9) / (LEVEL.times * THRESHOLD_PPS * sent.duration_ns);
            if (reactedAtMs !== null) reactions.push(reactedAtMs - sent.first_packet_wall_ns / 1e6);
            else if (share < SENT_SHARE_MIN) unsent++;
            else missed.push(`${victim}: ${sent.packets} packets in ${Math.round(sent.duration_ns / 1e6)} ms`);
          }
        } finally {
          await stack.close();
        }
      }
    } finally {
      for (const hog of hogs) hog.kill("SIGKILL");
    }
    return [
      {
        question: `${floods} floods of ${LEVEL.times} × the threshold; not sent: ${unsent}; missed: ${missed.length}`,
        unit: "ms",
        ours: distribution("Floodwall, route in BIRD", reactions),
        rival: null,
        target: "none missed",
        isMet: missed.length === 0,
        ...(missed.length > 0 && { details: missed }),
      },
    ];
  },
};

/** In a session of its own, as other services of a machine are. */
function busyProcess(): Bun.Subprocess {
  return Bun.spawn(["sh", "-c", "while :; do :; done"], { detached: true, stdin: "ignore", stdout: "ignore" });
}
