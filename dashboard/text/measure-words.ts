/** A row of the list of measures in words: what is wanted, what became of it, who has it, and what it does. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { passedMark } from "./attack-size.ts";
import { banMethodText, banWhy, routeWord } from "./bans.ts";
import { scaled } from "./format/numbers.ts";
import { subjectOrder } from "./format/subject-order.ts";
import { counted } from "./format/words.ts";
import { MEASURE_KINDS, type Measure, measureSubject } from "./measures.ts";
import { presenceWord, type StateWord } from "./nodes.ts";
import { actionText } from "./rule.ts";
import { said } from "./service-words.ts";

/** By address, a rule with its ban. */
export function subjectOrderOf(measure: Measure): string {
  switch (measure.kind) {
    case "ban":
    case "rule":
      return subjectOrder(measure.ban.prefix);
    case "block":
      return subjectOrder(measure.block.victim);
    case "node":
      return subjectOrder(measure.node.name);
    default:
      return measure satisfies never;
  }
}

/** The measure that the service wants. */
export function wantedText(measure: Measure): string {
  switch (measure.kind) {
    case "ban":
      return banMethodText(measure.ban);
    case "rule":
      return actionText(measure.rule);
    case "block":
      return t`Drop on this machine`;
    case "node":
      return t`Scrub ${counted(measure.node.active_bans, "ban")}`;
    default:
      return measure satisfies never;
  }
}

/** Whether the network has it. */
export function stateWord(measure: Measure): StateWord {
  switch (measure.kind) {
    case "ban":
    case "rule":
      return routeWord(measure.ban);
    case "block":
      if (measure.block.dry_run) return { tone: "warn", text: t`dry\u00a0run` };
      return measure.block.installed === false
        ? { tone: "danger", text: t`not in the kernel yet` }
        : { tone: "ok", text: t`in the kernel` };
    case "node":
      return presenceWord(measure.node);
    default:
      return measure satisfies never;
  }
}

const TONE_ORDER: Readonly<Record<StateWord["tone"], number>> = { danger: 0, warn: 1, info: 2, none: 3, ok: 4 };

/** Measures that are not as wanted come first. */
export function stateOrder(measure: Measure): string {
  const { tone, text } = stateWord(measure);
  return `${TONE_ORDER[tone]} ${text}`;
}

/** Neighbors that are named. */
const NAMED_MAX = 2;
const NOT_APPLIED = t`not applied`;

/** The neighbors, machine or node that apply it. */
export function holderText(measure: Measure): string {
  switch (measure.kind) {
    case "ban":
    case "rule":
      return banHolders(measure.ban, measure.kind === "rule");
    case "block":
      return measure.block.dry_run || measure.block.installed === false ? NOT_APPLIED : t`this machine`;
    case "node":
      return measure.node.alive ? measure.node.name : NOT_APPLIED;
    default:
      return measure satisfies never;
  }
}

function banHolders(ban: BanWire, isRule: boolean): string {
  const { announcement, sent_to: sent = [], missing_at: missing = [], dropped_packets: dropped } = ban;
  if (ban.dry_run) return NOT_APPLIED;
  const here = dropped === undefined ? [] : [t`this machine`];
  if (announcement === "speaker_down") return [t`not known`, ...here].join(", ");
  if (announcement !== "announced") return here.join() || (announcement === undefined ? "–" : NOT_APPLIED);
  // A tenant's token does not see the neighbors, and where the hook alone diverts there are none.
  const unnamed = ban.method === "divert" ? t`a neighbor or the scrubbing center` : t`a neighbor`;
  const all = sent.length === 0 && missing.length === 0 ? [unnamed] : sent;
  const named = all.length > NAMED_MAX + 1 ? [...all.slice(0, NAMED_MAX), t`${all.length - NAMED_MAX} more`] : all;
  const lacks = missing.map(({ neighbor }) => neighbor).join(", ");
  const lack = lacks === "" ? "" : isRule ? t` (perhaps not ${lacks})` : t` (not ${lacks})`;
  return [...named, ...here].join(", ") + lack;
}

/** Why a neighbor does not have it, for those that do not. */
export function lackText(measure: Measure): string | null {
  if (measure.kind !== "ban" && measure.kind !== "rule") return null;
  const { missing_at: missing = [], announce_error: error } = measure.ban;
  const causes = missing.map(({ neighbor, cause }) => `${neighbor}: ${said(cause)}`);
  return [...causes, ...(error === undefined ? [] : [said(error)])].join("; ") || null;
}

/**
 * Packets that it drops, or would drop in dry run; undefined: not known.
 * @param attack of the ban, if it is the only one: what all views of it say, by whatever cause
 */
export function effectPackets(measure: Measure, attack: AttackWire | undefined): number | undefined {
  switch (measure.kind) {
    case "ban": {
      const { dry_run: isDry, would_drop_packets: would, dropped_packets: dropped } = measure.ban;
      return isDry || would !== undefined ? would : (attack?.volume?.dropped_packets ?? dropped);
    }
    case "rule":
      return undefined;
    case "block":
      return measure.block.dropped_packets;
    case "node":
      return measure.node.report?.dropped_packets;
    default:
      return measure satisfies never;
  }
}

function isOnlyCounted(measure: Measure): boolean {
  if (measure.kind === "node") return measure.node.report?.dry_run === true;
  return measure.kind === "ban" && measure.ban.would_drop_packets !== undefined;
}

/**
 * Packets that were dropped and that passed, where known.
 * @param attack as above
 */
export function effectText(measure: Measure, attack: AttackWire | undefined): string {
  const dropped = effectPackets(measure, attack);
  if (dropped === undefined) return "–";
  if (isOnlyCounted(measure)) return `${scaled(dropped)} ${t`would be dropped`}`;
  if (measure.kind === "node") return `${scaled(dropped)} ${t`dropped`}`;
  const volume = attack?.volume;
  if (volume?.passed_packets === undefined) return `${scaled(dropped)} ${t`dropped`}`;
  return t`${scaled(dropped)} dropped${t`, ${passedMark(volume) + scaled(volume.passed_packets)} passed`}`;
}

/** The operator or cause that ordered it. */
export function ownerText(measure: Measure): string {
  switch (measure.kind) {
    case "ban":
    case "rule": {
      const { manual, operator, attacks } = measure.ban;
      if (manual) return operator ?? t`an operator`;
      return attacks === undefined ? t`automatic` : t`attack`;
    }
    case "block":
      return measure.operator ?? t`an operator`;
    case "node":
      return t`configuration`;
    default:
      return measure satisfies never;
  }
}

export function whyText(measure: Measure): string {
  if (measure.kind === "ban" || measure.kind === "rule") return banWhy(measure.ban);
  return measure.kind === "block" ? measure.block.reason : "";
}

/** RFC 3339; null: it does not end by time. */
export function endsAt(measure: Measure): string | null {
  if (measure.kind === "node") return null;
  return measure.kind === "block" ? measure.block.expires_at : measure.ban.expires_at;
}

export function begunAt(measure: Measure): string {
  // Nodes are behind what was decided: they do not begin.
  if (measure.kind === "node") return "";
  return measure.kind === "block" ? measure.block.created_at : measure.ban.started_at;
}

const TEXTS = new WeakMap<Measure, string>();

/** The text by which a search finds it: the values that the list shows, and the reason of its order, in lower case. */
export function searchText(measure: Measure): string {
  const known = TEXTS.get(measure);
  if (known !== undefined) return known;
  const address = measure.kind === "rule" ? measure.ban.prefix : "";
  const ordered = measure.kind === "ban" ? measure.ban.order_reason : "";
  const parts = [measureSubject(measure), address, MEASURE_KINDS[measure.kind], wantedText(measure)];
  const rest = [stateWord(measure).text, holderText(measure), ownerText(measure), whyText(measure), ordered];
  const text = [...parts, ...rest].join(" ").toLowerCase();
  TEXTS.set(measure, text);
  return text;
}
