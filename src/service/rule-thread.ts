/** The thread that finds the rules of attacks: answers each list of messages with a list of as many answers. */
import { answerTo, type RuleMessage } from "../mitigation/rules/rule-orders.ts";
import { systemClock } from "../system/clock.ts";
import { systemTimers } from "../system/timers.ts";
import { rehearsals } from "./rule-rehearsal.ts";

declare const self: Worker;

/** The service has started by then. */
const REHEARSED_AFTER_MS = 2000;
/** The compiler has done most by then, in 0.8 s of CPU time; all rounds take 2.1 s of it. */
const ROUNDS_AT_ONCE = 20;
/** The cores are for packets, and for what else runs beside: of its time a thread rehearses a fifth, later still less. */
const RESTS = 4;
const LATER_REST_MS = 1000;

let isRehearsing = true;

self.onmessage = ({ data }: MessageEvent<readonly RuleMessage[]>) => {
  isRehearsing = false;
  self.postMessage(data.map(answerTo));
};

systemTimers.after(REHEARSED_AFTER_MS, () => void rehearse());

/** Until the first attack comes. */
async function rehearse(): Promise<void> {
  let rounds = 0;
  let beganMs = systemClock.monotonicMs();
  for (const _ of rehearsals()) {
    const restMs = ++rounds < ROUNDS_AT_ONCE ? RESTS * (systemClock.monotonicMs() - beganMs) : LATER_REST_MS;
    await new Promise<void>((resolve) => systemTimers.after(restMs, resolve));
    if (!isRehearsing) return;
    beganMs = systemClock.monotonicMs();
  }
}
