/** The thread that finds the rules of attacks: answers each list of messages with a list of as many answers. */
import { answerTo, type RuleMessage } from "../mitigation/rules/rule-orders.ts";
import { systemTimers } from "../system/timers.ts";
import { rehearsals } from "./rule-rehearsal.ts";

declare const self: Worker;

/** The service has started by then, and a start that fails, or is one of many, costs nothing. */
const REHEARSED_AFTER_MS = 15_000;
/** After each round of some milliseconds: the cores are for packets. */
const REST_MS = 5;

let isRehearsing = true;

self.onmessage = ({ data }: MessageEvent<readonly RuleMessage[]>) => {
  isRehearsing = false;
  self.postMessage(data.map(answerTo));
};

systemTimers.after(REHEARSED_AFTER_MS, () => void rehearse());

/** Until the first attack comes. */
async function rehearse(): Promise<void> {
  for (const _ of rehearsals()) {
    await new Promise<void>((resolve) => systemTimers.after(REST_MS, resolve));
    if (!isRehearsing) return;
  }
}
