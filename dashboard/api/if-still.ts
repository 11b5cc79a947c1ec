/** An order that ends another one, if that is still as it was made: others give orders too. */

import { t } from "../language.ts";
import { type Answer, read } from "./client.ts";

/** @param isThere whether the list still has what the order made. */
export async function ifStill<List, T>(
  path: string,
  isThere: (list: List) => boolean,
  act: () => Promise<Answer<T>>,
): Promise<Answer<T>> {
  const answer = await read<List>(path);
  if (answer.kind !== "answer") return answer;
  if (isThere(answer.data)) return act();
  return {
    kind: "refused",
    status: 409,
    text: t`it has ended, or is another order now: nothing was changed`,
    body: null,
  };
}
