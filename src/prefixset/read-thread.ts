/** The thread that reads the files of sets, so that a list of a million prefixes does not block the event loop. */
import type { PrefixSetConfig } from "../config/sections/prefix-sets.ts";
import { messageOf } from "../system/error-message.ts";
import { PrefixSetError, readPrefixSet, type SetContent } from "./set-content.ts";

declare const self: Worker;

/** One for each set, in their order. */
export type ReadAnswer = SetContent | { readonly error: string };

self.onmessage = ({ data }: MessageEvent<readonly PrefixSetConfig[]>) => {
  const answers = data.map(answerOf);
  const buffers = answers.flatMap((answer) =>
    "error" in answer ? [] : [answer.columns.addresses.buffer, answer.columns.lengths.buffer],
  );
  self.postMessage(answers, buffers);
};

function answerOf(set: PrefixSetConfig): ReadAnswer {
  try {
    return readPrefixSet(set);
  } catch (cause) {
    if (!(cause instanceof PrefixSetError)) return { error: `set ${set.name} cannot be read: ${messageOf(cause)}` };
    return { error: cause.message };
  }
}
