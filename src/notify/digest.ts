/**
 * Combines several events into one message for people: the first ones in full, the rest as counts, so that a flood of
 * events is one message.
 */
import { shown as shownText } from "../audit/shown-text.ts";
import { NOTIFY_TEXT_CHARACTERS_MAX } from "../limits.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent, hintsOf } from "./event-text.ts";
import type { WireContext } from "./event-wire.ts";

export interface Digest {
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

/** Events that are shown in full. */
const FULL_EVENTS = 5;

const NOUNS: Readonly<Record<NotifyEvent["kind"], readonly [one: string, many: string]>> = {
  attack_started: ["attack", "attacks"],
  attack_changed: ["attack that changes", "attacks that change"],
  attack_lasts: ["attack that goes on", "attacks that go on"],
  attack_ended: ["attack that is over", "attacks that are over"],
  ban_active: ["active ban", "active bans"],
  ban_withdrawn: ["withdrawn ban", "withdrawn bans"],
  ban_rejected: ["refused ban", "refused bans"],
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
  test: ["test", "tests"],
  state_damaged: ["damaged state database", "damaged state databases"],
};

/** At least one event, oldest first. */
export function digest(events: readonly NotifyEvent[], context: WireContext): Digest {
  const shown = withoutEchoes(events);
  const full = shown
    .slice(0, FULL_EVENTS)
    .map((event) => ({ ...describeEvent(event), hints: hintsOf(event, context.pageUrl) }))
    .map(({ headline, details, hints }) => ({
      headline: shownText(headline),
      details: [...details, ...hints].map(shownText),
    }));
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
    const [one, many] = NOUNS[kind];
    return `${length}${i === 0 ? " more" : ""} ${length === 1 ? one : many}`;
  });
  return texts.join(", ");
}

function cut(text: string): string {
  return text.length <= NOTIFY_TEXT_CHARACTERS_MAX ? text : `${text.slice(0, NOTIFY_TEXT_CHARACTERS_MAX)}…`;
}
