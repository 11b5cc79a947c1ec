/** Reads sets off the event loop, each time in a thread of its own: it ends with its memory. */
import type { Timers } from "../system/timers.ts";
import type { ReadAnswer, ReadOrders } from "./read-answers.ts";

/** How long reading the changed files of sets may take, ms. */
const PREFIX_SETS_READ_MS = 120_000;

const THREAD = new URL("./read-thread.ts", import.meta.url);

/** One answer for each set. Never rejects: a thread that fails or takes too long is the error of each. */
export type ReadSets = (orders: ReadOrders) => Promise<readonly ReadAnswer[]>;

export function setReader(timers: Pick<Timers, "after">): ReadSets {
  return (orders) =>
    new Promise((resolve) => {
      const thread = new Worker(THREAD);
      const finish = (answers: readonly ReadAnswer[]) => {
        cancel();
        thread.terminate();
        resolve(answers);
      };
      const giveUp = (why: string) => finish(orders.sets.map(() => ({ error: `the sets were not read: ${why}` })));
      const cancel = timers.after(PREFIX_SETS_READ_MS, () =>
        giveUp(`reading takes longer than ${PREFIX_SETS_READ_MS / 1000} s`),
      );
      thread.onmessage = ({ data }: MessageEvent<readonly ReadAnswer[]>) => finish(data);
      thread.onerror = ({ message }) => giveUp(`the thread that reads them failed: ${message}`);
      thread.postMessage(orders);
    });
}
