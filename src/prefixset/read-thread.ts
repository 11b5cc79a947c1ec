/** The thread that reads the files of sets, so that a list of a million prefixes does not block the event loop. */
import { answersTo, type ReadOrders } from "./read-answers.ts";

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<ReadOrders>) => {
  const answers = answersTo(data);
  const buffers = answers.flatMap((answer) =>
    "error" in answer ? [] : [answer.columns.addresses.buffer, answer.columns.lengths.buffer],
  );
  self.postMessage(answers, buffers);
};
