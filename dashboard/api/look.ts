/** Looks whether an order that was not answered is in force. */
import { read } from "./client.ts";
import type { Look } from "./doubtful-order.ts";

/** Looks into an answer of the service. */
export function lookAt<T>(path: string | (() => string), isInForce: (data: T) => boolean): Look {
  return async () => {
    const answer = await read<T>(typeof path === "string" ? path : path());
    return answer.kind === "answer" ? isInForce(answer.data) : null;
  };
}
