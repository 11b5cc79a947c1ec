/** Reads the files of sets: what the reading thread is sent, and what it answers. */
import type { PrefixColumns } from "../net/prefix-columns.ts";
import { messageOf } from "../system/error-message.ts";
import type { PrefixSetConfig } from "./prefix-set-config.ts";
import { PrefixSetError, readPrefixSet, type SetContent } from "./set-content.ts";
import { type UsersMoved, usersMoved } from "./set-users.ts";

export interface ReadOrder {
  readonly config: PrefixSetConfig;
  /** The content in use, to compare with users; null: nothing is compared. */
  readonly before: PrefixColumns | null;
}

export interface ReadOrders {
  readonly sets: readonly ReadOrder[];
  /** Users of the last minute, 16 bytes each. */
  readonly users: Uint8Array;
}

export type ReadAnswer = (SetContent & { readonly moved: UsersMoved | null }) | { readonly error: string };

/** One for each set, in their order. */
export function answersTo({ sets, users }: ReadOrders): ReadAnswer[] {
  return sets.map((order) => answerOf(order, users));
}

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
