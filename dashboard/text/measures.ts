/** Measures in force against attacks, as rows of one list: bans, their FlowSpec rules, source blocks and scrub nodes. Pure. */
import type { Static } from "@sinclair/typebox";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import type { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { formFor, t } from "../language.ts";
import { banSubject } from "./bans.ts";
import { capital } from "./format/words.ts";
import { matchText } from "./rule.ts";

type Rule = NonNullable<BanWire["flowspec"]>[number];
type ScrubNode = Static<typeof ScrubInventoryWire>["nodes"][number];

export type Measure =
  | { readonly kind: "ban"; readonly key: string; readonly ban: BanWire }
  | { readonly kind: "rule"; readonly key: string; readonly ban: BanWire; readonly rule: Rule }
  | { readonly kind: "block"; readonly key: string; readonly block: SourceBlockWire; readonly operator: string | null }
  | { readonly kind: "node"; readonly key: string; readonly node: ScrubNode };

export const MEASURE_KINDS: Readonly<Record<Measure["kind"], string>> = {
  ban: capital(formFor(1, "ban|bans")),
  rule: t`FlowSpec rule`,
  block: t`Source block`,
  node: t`Scrub node`,
};

interface InForce {
  readonly bans: readonly BanWire[];
  readonly blocks: readonly SourceBlockWire[];
  /** The names of those who ordered blocks, by `blockName`. */
  readonly operators: ReadonlyMap<string, string>;
  readonly nodes: readonly ScrubNode[];
}

/** A ban is followed by its rules. */
export function measuresOf({ bans, blocks, operators, nodes }: InForce): Measure[] {
  const rows = bans.flatMap(rowsOfBan);
  for (const block of blocks) {
    const name = blockName(block);
    rows.push({ kind: "block", key: name, block, operator: operators.get(name) ?? null });
  }
  for (const node of nodes) rows.push({ kind: "node", key: `node ${node.name}`, node });
  return rows;
}

/** Made once for each ban: a list of ten thousand changes ten times a second, and few of its bans do. */
const BAN_ROWS = new WeakMap<BanWire, readonly Measure[]>();

function rowsOfBan(ban: BanWire): readonly Measure[] {
  if (ban.state !== "active") return [];
  const known = BAN_ROWS.get(ban);
  if (known !== undefined) return known;
  const key = `${ban.prefix} ${ban.started_at}`;
  const rules = (ban.flowspec ?? []).map((rule, i): Measure => ({ kind: "rule", key: `${key} ${i}`, ban, rule }));
  const rows: readonly Measure[] = [{ kind: "ban", key, ban }, ...rules];
  BAN_ROWS.set(ban, rows);
  return rows;
}

/** As the audit trail names it. */
export function blockName({ source, victim }: Pick<SourceBlockWire, "source" | "victim">): string {
  return `${source}->${victim}`;
}

/** @param events of the time in which a block may have been ordered, the newest first */
export function blockOperators(events: readonly AuditEventWire[]): Map<string, string> {
  const operators = new Map<string, string>();
  for (const { action, result, target, operator } of events) {
    if (action !== "source_block" || result !== "blocked" || operators.has(target)) continue;
    operators.set(target, operator === "" ? t`no sign-in` : operator);
  }
  return operators;
}

/** Whether an operator may end it by itself: rules end with their ban, and nodes are configured. */
export function isLiftable({ kind }: Measure): boolean {
  return kind === "ban" || kind === "block";
}

/**
 * The selected measures that are acted on: neither those that have ended meanwhile, nor those that the filter leaves
 * out, which are not seen.
 */
export function chosenOf(
  all: readonly Measure[],
  picked: ReadonlySet<string>,
  keep: (measure: Measure) => boolean,
): readonly Measure[] {
  return picked.size === 0 ? [] : all.filter((measure) => picked.has(measure.key) && keep(measure));
}

/** `Unban`, `Unblock`, or both. */
export function liftVerb(measures: readonly Measure[]): string {
  const hasBans = measures.some(({ kind }) => kind === "ban");
  const hasBlocks = measures.some(({ kind }) => kind === "block");
  return hasBans && hasBlocks ? t`Unban and unblock` : hasBlocks ? t`Unblock` : t`Unban`;
}

/** `203.0.113.7`, or `198.51.100.9 → 203.0.113.7`. */
export function measureSubject(measure: Measure): string {
  switch (measure.kind) {
    case "ban":
      return banSubject(measure.ban);
    case "rule":
      return matchText(measure.rule);
    case "block":
      return `${measure.block.source} → ${measure.block.victim}`;
    case "node":
      return measure.node.name;
    default:
      return measure satisfies never;
  }
}
