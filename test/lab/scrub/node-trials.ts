/** Faults of a scrub node and of its brain amid a flood that is diverted to the node. */
import { eventually, freePort } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import { echo, LongConnection } from "./box-lab.ts";
import { ScrubLab, THRESHOLD_PPS } from "./scrub-lab.ts";
import { ECHO_PORT, FAULT_MS, FAULT_SECONDS, fateOf, type Row, rowFrom, SETTLED_MS } from "./trial.ts";
import { wallMs } from "./user.ts";

const PPS = 10 * THRESHOLD_PPS;
const REQUEST_INTERVAL_MS = 50;
/** Without what was killed. */
const AWAY_MS = 3000;

export interface NodeTrial {
  readonly name: string;
  readonly fault: (lab: ScrubLab) => Promise<void>;
}

const FLOOD = "DNS answers, diverted to a scrub node";

export const NODE_TRIALS: readonly NodeTrial[] = [
  {
    name: `${FLOOD}: kill -9 of the agent, started again`,
    fault: async (lab) => {
      await lab.killAgent();
      await Bun.sleep(AWAY_MS);
      await lab.startAgent();
    },
  },
  { name: `${FLOOD}: the brain is away`, fault: (lab) => lab.killBrain() },
  {
    name: `${FLOOD}: the brain is away, and the agent is started again from its document`,
    fault: async (lab) => {
      await lab.killBrain();
      await lab.killAgent();
      await Bun.sleep(AWAY_MS);
      await lab.startAgent();
    },
  },
  {
    name: `${FLOOD}: kill -9 of the brain, started again`,
    fault: async (lab) => {
      await lab.killBrain();
      await Bun.sleep(AWAY_MS);
      await lab.startBrain();
    },
  },
];

export async function nodeRowOf({ name, fault }: NodeTrial, undo: Undo): Promise<Row> {
  const lab = await ScrubLab.create(await freePort(), undo);
  const { client, victim } = lab.places;
  await echo(victim, ECHO_PORT);
  const long = new LongConnection(client, ECHO_PORT, undo);
  const asking = lab.requests(REQUEST_INTERVAL_MS);
  await eventually(() => long.answers > 0 && asking.served > 0, "the users are not served before the attack");
  const startedAtMs = wallMs();
  const flooding = lab.flood({
    ...{ profile: "dns", sources: PPS / 50, ports: 1000, path: "socket", pps: PPS, seconds: FAULT_SECONDS },
  });
  const over = Promise.all([flooding, Bun.sleep(FAULT_MS).then(() => fault(lab))]);
  // It is awaited below, when what happens before has not failed.
  over.catch(() => {});
  await eventually(
    () => lab.dropped > 0,
    () => `nothing is dropped:\n${lab.lastWords}`,
  );
  await Bun.sleep(Math.max(0, startedAtMs + SETTLED_MS - wallMs()));
  const [arrived, dropped, fromMs] = [lab.arrived, lab.dropped, wallMs()];
  long.takeLongestPauseMs();
  const [{ packets: sent }] = await over;
  const [came, held, toMs] = [lab.arrived - arrived, lab.dropped - dropped, wallMs()];
  const connection = fateOf(long);
  await asking.stop();
  const served = asking.between(fromMs, toMs);
  const done = `dropped on the node ${held}`;
  return rowFrom({ name, sent, share: came / (came + held), served, ...connection, done });
}
