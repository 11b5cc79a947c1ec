/** The thread that reads the files of sets, so that a list of a million prefixes does not block the event loop. */
import type { PrefixSetConfig } from "../config/sections/prefix-sets.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { messageOf } from "../system/error-message.ts";
import { PrefixSetError, readPrefixSet, type SetContent } from "./set-content.ts";
import { type UsersMoved, usersMoved } from "./set-users.ts";

declare const self: Worker;

export interface ReadOrder {
  readonly config: PrefixSetConfig;
  /** What is in use, to compare with users; null: nothing is compared. */
  readonly before: PrefixColumns | null;
}

export interface ReadOrders {
  readonly sets: readonly ReadOrder[];
  /** Users of the last minute, 16 bytes each. */
  readonly users: Uint8Array;
}

/** One for each set, in their order. */
export type ReadAnswer = (SetContent & { readonly moved: UsersMoved | null }) | { readonly error: string };

self.onmessage = ({ data: { sets, users } }: MessageEvent<ReadOrders>) => {
  const answers = sets.map((order) => answerOf(order, users));
  const buffers = answers.flatMap((answer) =>
    "error" in answer ? [] : [answer.columns.addresses.buffer, answer.columns.lengths.buffer],
  );
  self.postMessage(answers, buffers);
};

function answerOf({ config: set, before }: ReadOrder, users: Uint8Array): ReadAnswer {
  try {
    const content = readPrefixSet(set);
    const moved = before === null || users.length === 0 ? null : usersMoved(before, content.columns, users);
    return { ...content, moved };
  } catch (cause) {
    if (!(cause instanceof PrefixSetError)) return { error: `set ${set.name} cannot be read: ${messageOf(cause)}` };
    return { error: cause.message };
  }
}
