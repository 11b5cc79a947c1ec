/** Diversions by the scrubbing hook, in words. Pure. */
import type { Static } from "@sinclair/typebox";
import type { DiversionsWire } from "../../src/http/wire/diversions.ts";
import { t } from "../language.ts";
import type { Tone } from "../parts/callout.tsx";
import { wholeNumber } from "./format/numbers.ts";
import { said } from "./service-words.ts";

export type DiversionRow = Static<typeof DiversionsWire>["diversions"][number];

interface DiversionState {
  readonly tone: Tone | "none";
  readonly text: string;
}

export function diversionState({ phase, lost, dry_run: isDryRun }: DiversionRow): DiversionState {
  const { tone, text } = lost === true ? { tone: "danger" as const, text: t`lost, requested again` } : PHASES[phase];
  return isDryRun === true ? { tone: "none", text: t`${text}, in dry run` } : { tone, text };
}

const PHASES: Readonly<Record<DiversionRow["phase"], DiversionState>> = {
  beginning: { tone: "warn", text: t`requested` },
  confirming: { tone: "warn", text: t`not confirmed yet` },
  diverted: { tone: "ok", text: t`confirmed` },
  failed: { tone: "danger", text: t`failed` },
  ending: { tone: "warn", text: t`being ended` },
};

/** Bans in one cell. */
const NAMED = 3;

/** The bans that want it. */
export function bansOf({ bans }: DiversionRow): string {
  const more = bans.length - NAMED;
  return [...bans.slice(0, NAMED), ...(more > 0 ? [t`${wholeNumber(more)} more`] : [])].join(", ") || t`none any more`;
}

/** `the hook answered 503 (3 times)`; undefined: none. */
export function lastError({ error, attempts }: DiversionRow): string | undefined {
  if (error === undefined) return undefined;
  return attempts > 1 ? t`${said(error)} (${attempts} times)` : said(error);
}

/** By which a search finds it. */
export function diversionText(row: DiversionRow): string {
  return [row.prefix, diversionState(row).text, ...row.bans, lastError(row) ?? ""].join(" ");
}
