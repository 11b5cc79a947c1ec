/**
 * How much later is the first request of a new client answered because its source must prove itself? A real network
 * stack opens a connection through an inline box, with standing rules, to victims that do not know it yet, and waits
 * for the first byte; compared with the same box that does not scrub. All run in turn.
 */
import { join } from "node:path";
import { eventually } from "../test/fixtures/service.ts";
import { Undo } from "../test/fixtures/undo.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { type BoxLab, echo, makeBoxLab } from "../test/lab/scrub/box-lab.ts";
import { VICTIM } from "../test/lab/scrub/scrub-network.ts";
import { type Bench, distribution, type Figure, type Measurement, percentile, type RunOptions } from "./measurement.ts";

const CLIENT = join(import.meta.dir, "first-request-client.ts");
const PORT = 81;
const RUNS = 3;
/** A source is known for one victim, so that each of these is a new start for the client. */
const VICTIMS = "203.0.113.128/25";
const NEW = Array.from({ length: 120 }, (_, i) => `203.0.113.${128 + i}`);
/** The first ones resolve neighbors, and have the client's code compiled. */
const WARM_UP = 20;
/** Beyond a round trip. */
const LATER_MS_MAX = 5;

const WAYS = { none: 'tcp: "off"', transparent: "tcp: transparent, always: true", reset: "tcp: reset, always: true" };
type Way = keyof typeof WAYS;
type Times = Readonly<Record<Way, number[]>>;

export const scrubFirstRequest: Bench = {
  question: "first request of a new client, answered",
  async run({ isQuick }: RunOptions) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    const times: Times = { none: [], transparent: [], reset: [] };
    for (let run = 0; run < (isQuick ? 1 : RUNS); run++) {
      for (const way of ["none", "transparent", "reset"] as const) times[way].push(...(await timesOf(way)));
    }
    return measurements(times);
  },
};

async function timesOf(way: Way): Promise<number[]> {
  await using undo = new Undo();
  const lab = await makeBoxLab(undo, { scrub: `{ ${WAYS[way]} }` });
  lab.victim.run(["ip", "route", "add", "local", VICTIMS, "dev", "lo"]);
  lab.box.run(["ip", "route", "add", VICTIMS, "via", VICTIM]);
  await echo(lab.victim, PORT);
  if (way !== "none") await eventually(async () => (await dropping(lab)).rules > 0, "no standing rules");
  const addresses = [...Array.from({ length: WARM_UP }, () => VICTIM), ...NEW];
  const client = Bun.spawn(lab.client.command([process.execPath, CLIENT, String(PORT), ...addresses]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const all = JSON.parse(await new Response(client.stdout).text()) as number[];
  const { verdicts } = await dropping(lab);
  const answered = verdicts[way === "reset" ? "answer_syn_ack" : "answer_ack"]?.packets ?? 0;
  if (answered < NEW.length !== (way === "none")) throw new Error(`${answered} SYN were answered: ${way}`);
  return all.slice(WARM_UP);
}

interface Dropping {
  readonly rules: number;
  readonly verdicts: Readonly<Record<string, { readonly packets: number }>>;
}

async function dropping({ service }: BoxLab): Promise<Dropping> {
  return (await service.get<{ dataplane: Dropping }>("/api/v1/status")).body.dataplane;
}

function measurements(times: Times): Measurement[] {
  const rival = distribution("no scrubber", times.none);
  const row = { unit: "ms", rival };
  const reset = distribution("Floodwall, reset", times.reset);
  const [later, latest] = [laterMs(reset, rival, 0.5), laterMs(reset, rival, 0.99)];
  // A request without a scrubber takes two round trips.
  const roundTripMs = rival.median / 2;
  const transparent = distribution("Floodwall, transparent", times.transparent);
  return [
    {
      ...row,
      question: "first request of a new client, reset and connected again",
      ours: reset,
      target: `≤ 1 RTT + ${LATER_MS_MAX} ms later, p50 and p99`,
      isMet: Math.max(later, latest) <= roundTripMs + LATER_MS_MAX,
      details: [
        `reset: ${later.toFixed(2)} ms later at p50, ${latest.toFixed(2)} ms at p99; a round trip takes ${roundTripMs.toFixed(2)} ms`,
      ],
    },
    {
      ...row,
      question: "first request of a new client, whose stack sends its SYN again",
      ours: transparent,
      target: "none set",
      isMet: true,
      details: [
        `transparent: ${laterMs(transparent, rival, 0.5).toFixed(2)} ms later at p50, ${laterMs(transparent, rival, 0.99).toFixed(2)} ms at p99: the client's own retransmission, of this kernel`,
      ],
    },
  ];
}

function laterMs(ours: Figure, rival: Figure, share: number): number {
  return percentile(ours.values, share) - percentile(rival.values, share);
}
