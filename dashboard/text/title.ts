/** The title of the browser tab: it names the victim. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { attackSubject } from "./mitigation.ts";

interface TitleParts {
  readonly view: string;
  /** The path after the view's own step. */
  readonly steps: readonly string[];
  /** The attacks in progress, the most urgent first. */
  readonly active: readonly AttackWire[];
  /** The attack that the page is about. */
  readonly attack: AttackWire | undefined;
}

/** `(2) 203.0.113.7 – Attacks – Floodwall`: the subject of the page, else the most urgent victim. */
export function titleOf({ view, steps: [step], active, attack }: TitleParts): string {
  const count = active.length > 0 ? `(${active.length}) ` : "";
  const [worst] = active;
  const own =
    attack === undefined ? (view === "Attacks" ? undefined : step?.replace(/\/(32|128)$/, "")) : attackSubject(attack);
  const subject = own ?? (worst === undefined ? undefined : attackSubject(worst));
  return `${count}${[subject, view, "Floodwall"].filter((part) => part !== undefined).join(" – ")}`;
}
