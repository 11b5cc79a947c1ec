/** One attack on a box of its own, beside users and a connection from before: what was served, and what came through. */
import { eventually } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { Attack } from "./attacks.ts";
import { type BoxBan, type BoxOptions, countAttackers, echo, LongConnection, makeBoxLab } from "./box-lab.ts";
import type { Fault } from "./faults.ts";
import type { RequestSummary } from "./scrub-requests.ts";
import { wallMs } from "./user.ts";
import type { MakeUser } from "./users.ts";

export const ECHO_PORT = 443;
/** From the first packet on; all is measured from then to the end of the flood. */
export const SETTLED_MS = 3000;
export const FAULT_MS = 4000;
const SECONDS = 10;
export const FAULT_SECONDS = 16;
/** A connection is learned when it is older than two units of time, 4.3 s each. */
const LEARNED_MS = 9500;
/** Senders stand still now and then on a busy machine, and the attack is not over then. */
const HYSTERESIS_SECONDS = 30;
const SERVED_LEAST = 0.99;
const THROUGH_MOST = 0.01;
const PAUSE_MOST_MS = 2000;

export interface Trial {
  readonly name: string;
  readonly box: BoxOptions;
  readonly user: MakeUser;
  readonly attack: Attack;
  /** Amid the flood. */
  readonly fault?: Fault;
  /** The mitigation is in force before each attack: there is no ban to wait for. */
  readonly isStanding?: true;
  /** Sources at the attacker's interface that are not counted among the attackers. */
  readonly except?: string;
}

export interface Row {
  readonly cells: readonly string[];
  readonly isHeld: boolean;
}

export const HEAD = ["attack", "sent", "came through", "requests served", "median, slowest", "connection", "done", ""];

export async function rowOf(trial: Trial, undo: Undo): Promise<Row> {
  const { name, box, user, attack, fault, isStanding, except } = trial;
  const lab = await makeBoxLab(undo, { hysteresisSeconds: HYSTERESIS_SECONDS, ...box });
  await echo(lab.victim, ECHO_PORT);
  const long = new LongConnection(lab.client, ECHO_PORT, undo);
  await eventually(() => long.answers > 0, "the long connection has no answers");
  const asking = await user(lab, undo);
  await eventually(() => asking.served > 0, "the user is not served before the attack");
  await Bun.sleep(LEARNED_MS);
  const passed = countAttackers(lab, except);
  const startedAtMs = wallMs();
  const seconds = fault === undefined ? SECONDS : FAULT_SECONDS;
  const attacking = attack(lab.attacker, seconds, undo);
  const over = Promise.all([attacking, fault && Bun.sleep(FAULT_MS).then(() => fault(lab, undo))]);
  // It is awaited below, when what happens before has not failed.
  over.catch(() => {});
  const isBanned = async () => (await lab.bans()).length > 0;
  if (!isStanding) await eventually(isBanned, () => `no ban:\n${lab.service.output}`);
  await Bun.sleep(Math.max(0, startedAtMs + SETTLED_MS - wallMs()));
  const [before, fromMs] = [passed(), wallMs()];
  long.takeLongestPauseMs();
  const [sent] = await over;
  const [after, toMs] = [passed(), wallMs()];
  const [connection, bans] = [fateOf(long), await lab.bans()];
  await asking.stop();
  const share = (after - before) / ((sent * (toMs - fromMs)) / (toMs - startedAtMs));
  const served = asking.between(fromMs, toMs);
  const done = lab.service.hasExited ? "the service is dead" : doneText(bans);
  return rowFrom({ name, sent, share, served, ...connection, done });
}

export interface Outcome {
  readonly name: string;
  readonly sent: number;
  /** Of the attack, that came through, 0 to 1. */
  readonly share: number;
  readonly served: RequestSummary;
  readonly isAlive: boolean;
  readonly pauseMs: number;
  readonly done: string;
}

export function rowFrom({ name, sent, share, served, isAlive, pauseMs, done }: Outcome): Row {
  const { requests, medianMs, slowestMs } = served;
  const isServed = requests > 0 && served.served >= SERVED_LEAST * requests;
  const isHeld = isServed && share <= THROUGH_MOST && isAlive;
  const cells = [
    ...[name, String(sent)],
    `${(100 * share).toFixed(2)} %`,
    `${served.served} of ${requests}`,
    `${medianMs.toFixed(0)}, ${slowestMs.toFixed(0)} ms`,
    isAlive ? `lives, waited ${pauseMs.toFixed(0)} ms at most` : "LOST",
    ...[done, isHeld ? "held" : "NOT HELD"],
  ];
  return { cells, isHeld };
}

/** Of the connection, since the last look. */
export function fateOf(long: LongConnection): Pick<Outcome, "isAlive" | "pauseMs"> {
  const { isClosed, silentMs } = long;
  return { isAlive: !isClosed && silentMs < PAUSE_MOST_MS, pauseMs: long.takeLongestPauseMs() };
}

function doneText([ban]: readonly BoxBan[]): string {
  if (ban === undefined) return "no ban";
  const reasons = Object.entries(ban.dropped_by ?? {}).map(([reason, packets]) => `${reason} ${packets}`);
  const challenged = ban.challenged_packets === undefined ? [] : [`challenged ${ban.challenged_packets}`];
  return [...challenged, ...reasons].join(", ");
}
