/**
 * Combines several events into one message for people: the first ones in full, the rest as counts, so that a flood of
 * events is one message.
 */
import { shown as shownText } from "../audit/shown-text.ts";
import { NOTIFY_TEXT_CHARACTERS_MAX } from "../limits.ts";
import { render, type Template } from "../schema/message-template.ts";
import { CONDITIONS, type ConditionEnd, type ConditionKind, conditionOf, isConditionEnd } from "./condition.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent, type EventText, hintsOf } from "./event-text.ts";
import type { WireContext } from "./event-wire.ts";
import { templateValues } from "./template-values.ts";

interface DigestContext extends WireContext {
  /** null: the texts are those of the service. */
  readonly template: Template | null;
}

interface Digest {
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

/** Events that are shown in full. */
const FULL_EVENTS = 5;

type Noun = readonly [one: string, many: string];

const NOUNS: Readonly<Record<Exclude<NotifyEvent["kind"], ConditionKind | ConditionEnd>, Noun>> = {
  attack_started: ["attack", "attacks"],
  attack_changed: ["attack that changes", "attacks that change"],
  attack_lasts: ["attack that goes on", "attacks that go on"],
  attack_not_held: ["attack that is not held", "attacks that are not held"],
  attack_ended: ["attack that is over", "attacks that are over"],
  ban_active: ["active ban", "active bans"],
  ban_withdrawn: ["withdrawn ban", "withdrawn bans"],
  ban_rejected: ["refused ban", "refused bans"],
  rules_not_found: ["ban without rules", "bans without rules"],
  bgp_session_lost: ["lost BGP session", "lost BGP sessions"],
  bgp_session_restored: ["restored BGP session", "restored BGP sessions"],
  cap_reached: ["cap that is reached", "caps that are reached"],
  exporter_fault: ["exporter with a fault", "exporters with a fault"],
  exporter_fault_over: ["exporter whose fault is over", "exporters whose fault is over"],
  scrub_node_fault: ["scrub node with a fault", "scrub nodes with a fault"],
  scrub_node_fault_over: ["scrub node whose fault is over", "scrub nodes whose fault is over"],
  file_fault: ["file that cannot be used", "files that cannot be used"],
  file_fault_over: ["file that can be used again", "files that can be used again"],
  cluster_fault: ["fault of the cluster", "faults of the cluster"],
  cluster_fault_over: ["fault of the cluster that is over", "faults of the cluster that are over"],
  order_made: ["notice of orders made", "notices of orders made"],
  order_changed: ["notice of orders changed", "notices of orders changed"],
  order_ended: ["notice of orders ended", "notices of orders ended"],
  owner_changed: ["change of owner", "changes of owner"],
  events_joined: ["notice of many events", "notices of many events"],
  test: ["test", "tests"],
  state_damaged: ["damaged state database", "damaged state databases"],
};

/** At least one event, oldest first. */
export function digest(events: readonly NotifyEvent[], context: DigestContext): Digest {
  const shown = withoutEchoes(events);
  const full = shown.slice(0, FULL_EVENTS).map((event) => textOf(event, context));
  const rest = shown.slice(FULL_EVENTS);
  const isDryRun = events.at(-1)?.dryRun ?? false;
  const paragraphs = full.map(({ headline, details }) => [headline, ...details].join("\n"));
  const counted = rest.length === 0 ? [] : [`And ${countText(rest)}`];
  const footer = `Floodwall on ${context.instance}. Dry run: ${isDryRun ? "on, nothing is announced" : "off"}`;
  const others = shown.length - 1;
  return {
    subject: `${isDryRun ? "[dry run] " : ""}${full[0]?.headline ?? ""}${others === 0 ? "" : ` (and ${others} more)`}`,
    text: `${cut([...paragraphs, ...counted].join("\n\n"))}\n\n${footer}`,
  };
}

/** By the template, whose first line is the headline. One that has nothing to say of an event is not used for it. */
function textOf(event: NotifyEvent, context: DigestContext): EventText {
  const { template } = context;
  const rendered = template === null ? "" : render(template, templateValues(event, context));
  if (rendered !== "") {
    const [headline = "", ...details] = rendered.split("\n");
    return { headline, details };
  }
  const { headline, details } = describeEvent(event);
  return { headline: shownText(headline), details: [...details, ...hintsOf(event, context.pageUrl)].map(shownText) };
}

/** Without bans that the message about their attack shows already. */
function withoutEchoes(events: readonly NotifyEvent[]): NotifyEvent[] {
  const shown = new Set(events.flatMap((event) => ("attack" in event && event.ban !== null ? banKey(event.ban) : [])));
  return events.filter((event) => "attack" in event || !("ban" in event) || !shown.has(banKey(event.ban)));
}

function banKey({ id, state, dryRun }: { readonly id: string; readonly state: string; readonly dryRun: boolean }) {
  return `${id} ${state} ${dryRun}`;
}

/** `240 more attacks, 3 withdrawn bans`. */
function countText(events: readonly NotifyEvent[]): string {
  const counts = Map.groupBy(events, ({ kind }) => kind);
  const texts = [...counts].map(([kind, { length }], i) => {
    const [one, many] = nounOf(kind);
    return `${length}${i === 0 ? " more" : ""} ${length === 1 ? one : many}`;
  });
  return texts.join(", ");
}

function nounOf(kind: NotifyEvent["kind"]): Noun {
  if (kind in NOUNS) return NOUNS[kind as keyof typeof NOUNS];
  const condition = kind as ConditionKind | ConditionEnd;
  return CONDITIONS[conditionOf(condition)].nouns[isConditionEnd(condition) ? 1 : 0];
}

function cut(text: string): string {
  if (text.length <= NOTIFY_TEXT_CHARACTERS_MAX) return text;
  // Half of a character is no Unicode: Telegram refuses such a message.
  return `${text.slice(0, NOTIFY_TEXT_CHARACTERS_MAX).toWellFormed()}…`;
}
