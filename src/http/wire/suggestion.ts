/** Thresholds proposed from the history (docs/interface.md#suggested-thresholds). */
import { type Static, Type } from "@sinclair/typebox";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { round } from "../../traffic/rates.ts";
import {
  type GroupSuggestion,
  RAISED_MAX,
  type Raised,
  SUGGEST_DAYS_MIN,
  type Suggestion,
  type Trio,
} from "../../traffic/threshold-suggestion.ts";

const TrioWire = closedObject({ pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() });

const GroupWire = closedObject({
  name: Type.String(),
  direction: oneOf("incoming", "outgoing"),
  hosts: Type.Integer(),
  /** The daily peaks that at most a tenth of the days exceed, of the busiest host of each. */
  seen: TrioWire,
  thresholds: TrioWire,
  busiest: Type.Array(closedObject({ target: Type.String(), pps: Type.Number() })),
  /** Why a threshold is above what the history alone would propose. Otherwise absent. */
  raised: Type.Optional(
    closedObject({
      /** Attacks that were marked as expected or as false alarms. */
      attacks: Type.Integer({ minimum: 1 }),
      highest: TrioWire,
      /** These are above the proposal all the same, which is bounded. Otherwise absent. */
      bounded: Type.Optional(Type.Literal(true)),
      /** Attacks marked as real that the proposal would not notice. Absent: none. */
      hides_real: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
  ),
  /** Its busiest host has more than ten times what the next one has. Otherwise absent. */
  outlier: Type.Optional(Type.Literal(true)),
});

export const SuggestionWire = closedObject({
  /** False: storage is off. */
  available: Type.Boolean(),
  /** Whole days of records that it rests on. */
  days: Type.Integer(),
  margin: Type.Number(),
  /** Why nothing is suggested. Otherwise absent. */
  reason: Type.Optional(Type.String()),
  hostgroups: Type.Array(GroupWire),
  /** For the configuration. Absent where nothing is suggested. */
  yaml: Type.Optional(Type.String()),
  /** There are more attacks than are read, and marks of the oldest do not count. Otherwise absent. */
  marks_left_out: Type.Optional(Type.Literal(true)),
  /** Hosts that were not looked at, as there are too many. Otherwise absent. */
  left_out: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type SuggestionWire = Static<typeof SuggestionWire>;

/** @param isWhole the marks of all attacks of the days count. */
export function suggestionToWire(made: Suggestion | null, margin: number, isWhole = true): SuggestionWire {
  if (made === null) return nothing({ available: false, days: 0, margin }, "storage is off: there is no history");
  if (made.kind === "too_little") {
    const reason = `too little history: ${made.days} whole days on ${made.weekdays} days of the week, and ${SUGGEST_DAYS_MIN} on all seven are needed`;
    return nothing({ available: true, days: made.days, margin }, reason);
  }
  const head = { available: true, days: made.days, margin };
  if (made.groups.length === 0) return nothing(head, "no host of the configured networks had traffic");
  return {
    ...head,
    hostgroups: made.groups.map(groupToWire),
    yaml: yamlOf(
      made.groups,
      `${made.days} days, margin ${margin}${isWhole ? "" : "; marks of the oldest attacks do not count"}`,
    ),
    ...(!isWhole && { marks_left_out: true as const }),
    ...(made.leftOut > 0 && { left_out: made.leftOut }),
  };
}

function nothing(head: Pick<SuggestionWire, "available" | "days" | "margin">, reason: string): SuggestionWire {
  return { ...head, reason, hostgroups: [] };
}

function groupToWire({ name, direction, hosts, seen, thresholds, busiest, isOutlier, raised }: GroupSuggestion) {
  return {
    ...{ name, direction, hosts, seen: trioToWire(seen), thresholds: trioToWire(thresholds) },
    busiest: busiest.map(({ key, pps }) => ({ target: key, pps: round(pps) })),
    ...(isOutlier && { outlier: true as const }),
    ...(raised !== null && { raised: raisedToWire(raised) }),
  };
}

function raisedToWire({ attacks, highest, isBounded, hidesReal }: Raised) {
  return {
    ...{ attacks, highest: trioToWire(highest) },
    ...(isBounded && { bounded: true as const }),
    ...(hidesReal > 0 && { hides_real: hidesReal }),
  };
}

/** As a comment of the proposal. */
function raisedText({ name, direction, raised }: GroupSuggestion): string[] {
  if (raised === null) return [];
  const { pps, mbps, flows_per_sec: flowsPerSec } = trioToWire(raised.highest);
  // Not kept of an attack: known where it crossed a threshold of them.
  const flows = flowsPerSec === 0 ? "" : `, and at least ${flowsPerSec} flows/s`;
  const marked = `${raised.attacks} attacks marked as expected or false alarm, of up to ${pps} packets/s, ${mbps} Mbit/s${flows}`;
  const bound = `; no more than ${RAISED_MAX} times what the history proposes: give such hosts a hostgroup of their own`;
  const real = `; ${raised.hidesReal} attacks marked as real stay below it`;
  return [
    `# ${name}, ${direction}: raised for ${marked}${raised.isBounded ? bound : ""}${raised.hidesReal > 0 ? real : ""}`,
  ];
}

function trioToWire({ pps, mbps, flowsPerSec }: Trio): Static<typeof TrioWire> {
  return { pps: round(pps), mbps: round(mbps), flows_per_sec: round(flowsPerSec) };
}

/** Only what is suggested: the other keys of a hostgroup stay as they are. */
function yamlOf(groups: readonly GroupSuggestion[], from: string): string {
  const keyOf = ({ direction }: GroupSuggestion) => (direction === "incoming" ? "thresholds" : "thresholds_outgoing");
  const trio = ({ thresholds: { pps, mbps, flowsPerSec } }: GroupSuggestion) =>
    `{ pps: ${round(pps)}, mbps: ${round(mbps)}, flows_per_sec: ${round(flowsPerSec)} }`;
  const notes = groups
    .filter(({ isOutlier }) => isOutlier)
    .map(({ name, busiest: [first] }) => `# ${name}: ${first?.key} has ten times what others have: look at it first`);
  const global = groups.filter(({ name }) => name === "global").map((group) => `${keyOf(group)}: ${trio(group)}`);
  const others = Map.groupBy(
    groups.filter(({ name }) => name !== "global"),
    ({ name }) => name,
  );
  const lines = [...others].flatMap(([name, of]) => [
    `  - name: ${/^[A-Za-z][\w-]*$/.test(name) ? name : JSON.stringify(name)}`,
    ...of.map((group) => `    ${keyOf(group)}: ${trio(group)}`),
  ]);
  return [
    `# from the history: ${from}`,
    ...notes,
    ...groups.flatMap(raisedText),
    ...global,
    ...(lines.length > 0 ? ["hostgroups:", ...lines] : []),
    "",
  ].join("\n");
}
