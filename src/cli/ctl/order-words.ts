/** Texts that all commands with orders use. */
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

/** The addresses that move with a ban by the wider prefix announced for it; null: its own is announced. */
export function movesWith(ban: Json): string | null {
  if (ban["announced_prefix"] === undefined) return null;
  const { hosts, busiest, hostgroups } = partOf(ban, "moves_with");
  const named = Array.isArray(busiest) ? busiest.map((row: Json) => plain(row["target"])).join(", ") : "";
  const seen = hosts === undefined ? "hosts not known" : `${plain(hosts)} other hosts with traffic`;
  return `${plain(ban["announced_prefix"])}: ${seen}${named === "" ? "" : ` (${named})`}, hostgroups ${plain(hostgroups)}`;
}

/** @param verb what is done with the traffic */
export function effect(answer: Json, verb = "would drop"): Answered {
  const { effect: of, refusal } = { effect: partOf(answer, "effect"), refusal: answer["refusal"] };
  const percent = (share: unknown) => (typeof share === "number" ? `${(100 * share).toFixed(1)} %` : "not known");
  const isKnown = of["available"] === true;
  return {
    answer,
    text: lines([
      ["order", refusal === undefined ? "would be accepted" : `would be refused: ${plain(refusal)}`],
      [
        verb,
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
