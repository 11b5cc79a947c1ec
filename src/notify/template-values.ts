/** The values of an event that templates of messages may use. */
import { shown } from "../audit/shown-text.ts";
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import { isOneAddress } from "../mitigation/ban-subject.ts";
import type { TemplateValues } from "../schema/message-template.ts";
import { METRICS } from "../traffic/rates.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent } from "./event-text.ts";
import { linkOf, type WireContext } from "./event-wire.ts";
import type { TemplateName } from "./notify-config.ts";
import { durationText, numberText, timeText } from "./number-text.ts";
import { adviceOf, severityOf } from "./severity.ts";

type Value = (event: NotifyEvent, context: WireContext) => string | null;

const ofAttack =
  (value: (attack: Attack) => string | null): Value =>
  (event) =>
    "attack" in event ? value(event.attack) : null;
const rateOf = (metric: (typeof METRICS)[number]) =>
  ofAttack(({ rates }) => numberText(rates[METRICS.indexOf(metric)] ?? 0));

/** By name. null: the event has none. */
const VALUES: Readonly<Record<TemplateName, Value>> = {
  event: ({ kind }) => kind,
  id: ({ id }) => id,
  severity: (event) => severityOf(event),
  headline: (event) => describeEvent(event).headline,
  details: (event) => describeEvent(event).details.map(shown).join("\n"),
  advice: (event) => adviceOf(event),
  link: (event, { pageUrl }) => linkOf(event, pageUrl),
  instance: (_, { instance }) => instance,
  time: ({ atMs }) => timeText(atMs),
  dry_run: ({ dryRun }) => (dryRun ? "dry run" : null),
  tenant: ({ tenant }) => tenant,
  hostgroup: ({ group }) => group,
  target: targetOf,
  direction: ofAttack(({ direction }) => direction),
  vector: ofAttack(({ classification }) => classification?.type.replaceAll("_", " ") ?? null),
  metric: ofAttack(({ metric }) => metric),
  rate: ofAttack((attack) => numberText(attackRate(attack))),
  threshold: ofAttack(({ threshold }) => numberText(threshold)),
  pps: rateOf("pps"),
  mbps: rateOf("mbps"),
  started: ofAttack(({ startedAt }) => timeText(startedAt)),
  duration: (event) =>
    "attack" in event ? durationText((event.attack.endedAt ?? event.atMs) - event.attack.startedAt) : null,
  ban_state: (event) => ("ban" in event ? (event.ban?.state ?? null) : null),
  ban_method: (event) => ("ban" in event ? (event.ban?.method ?? null) : null),
  name: nameOf,
};

/** The attacked or banned address or prefix. */
function targetOf(event: NotifyEvent): string | null {
  if ("attack" in event) return event.attack.carpet?.prefix ?? event.attack.target;
  if ("ban" in event) return isOneAddress(event.ban.prefix) ? event.ban.target : event.ban.prefix.text;
  return null;
}

/** The part or order that an event of no attack or ban is about. */
function nameOf(event: NotifyEvent): string | null {
  if ("condition" in event) return event.condition.name;
  if ("neighbor" in event) return event.neighbor.address;
  if ("exporter" in event) return event.exporter.name;
  if ("scrubNode" in event) return event.scrubNode.name;
  if ("file" in event) return event.file.key;
  if ("cap" in event) return event.cap.name;
  return "orders" in event ? event.orders.targets.join(", ") : null;
}

export function templateValues(event: NotifyEvent, context: WireContext): TemplateValues {
  return new Map(
    Object.entries(VALUES).map(([name, read]) => {
      const value = read(event, context);
      // These values alone are several lines, and each of them is one.
      return [name, name === "details" ? value : value && shown(value)];
    }),
  );
}
