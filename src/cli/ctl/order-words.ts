/** What commands that order something have in common. */
import { type Json, Refused } from "./api.ts";
import { type Answered, CtlUsage, given, type Options } from "./command.ts";
import { lines, partOf, plain } from "./table.ts";

export const REASON = { name: "reason", value: "TEXT", help: "kept in the audit trail" } as const;

/** One order for each; a refusal does not keep the others from being given. */
export async function* each(
  targets: readonly string[],
  order: (target: string) => Promise<Answered>,
): AsyncGenerator<Answered | Error> {
  for (const target of targets) {
    try {
      yield await order(target);
    } catch (cause) {
      if (!(cause instanceof Refused)) throw cause;
      yield new Refused(`${target}: ${cause.message}`);
    }
  }
}

/** An end that is not on disk is undone by a service that is killed before it is. */
export function ordered(answer: Json, text: string): Answered {
  return { answer, text: answer["saved"] === false ? `${text}\nnot on disk yet` : text };
}

export function required(options: Options, name: string): string {
  const value = given(options, name);
  if (value !== undefined) return value;
  throw new CtlUsage(`--${name} is missing`);
}

export function effect(answer: Json): Answered {
  const { effect: of, refusal } = { effect: partOf(answer, "effect"), refusal: answer["refusal"] };
  const percent = (share: unknown) => (typeof share === "number" ? `${(100 * share).toFixed(1)} %` : "not known");
  const isKnown = of["available"] === true;
  return {
    answer,
    text: lines([
      ["order", refusal === undefined ? "would be accepted" : `would be refused: ${plain(refusal)}`],
      [
        "would drop",
        isKnown
          ? `${percent(of["packets_share"])} of the packets of the last minute, to ${plain(of["hosts"])} hosts`
          : `not known: ${plain(of["reason"])}`,
      ],
      ["of it in no attack", isKnown ? percent(of["unattacked_share"]) : null],
      ["hostgroups", of["hostgroups"]],
      ["rules that would never match", answer["hides"]],
    ]),
  };
}
