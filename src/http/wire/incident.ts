/** Incidents (docs/interface.md#incident), and the requests to work on one. */
import { type Static, Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import { INCIDENT_STATES, type Member, type PeakRate, type Sums } from "../../incident/incident.ts";
import type { IncidentView } from "../../incident/incident-view.ts";
import {
  type Deed,
  INCIDENT_VERDICTS,
  type IncidentNote,
  type NoteOrder,
  openHandovers,
  type WorkOrder,
} from "../../incident/work.ts";
import { INCIDENT_NOTE_MAX } from "../../limits.ts";
import { Count, closedObject, oneOf, Rate } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { round } from "../../traffic/rates.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { omitNulls } from "./omit-nulls.ts";
import { plainTextFault } from "./plain-text.ts";
import { SAVED_FIELD, SETTLED, savedToWire } from "./saved.ts";

const DEED = {
  at: Timestamp,
  of: oneOf("operator", "tenant"),
  /** Name of the token; absent on an open API, and for tenants where an operator did it. */
  by: Type.Optional(Type.String()),
};
const DeedWire = closedObject(DEED);

const ROW = {
  /** Later incidents have larger ids. */
  id: Type.String(),
  state: oneOf(...INCIDENT_STATES),
  /** Absent: no tenant owns the victims, and the customer is the hostgroup. */
  tenant: Type.Optional(Type.String()),
  group: Type.String(),
  direction: oneOf("incoming", "outgoing"),
  /** Absent: not known yet, or samples are off. */
  kind: Type.Optional(Type.String()),
  started_at: Timestamp,
  /** End of the last attack; absent while one lasts. */
  ended_at: Type.Optional(Timestamp),
  attacks: Count,
  active_attacks: Count,
  victims: Count,
  /** There are more than these. Absent if false. */
  victims_at_least: Type.Optional(Type.Literal(true)),
  /** /24 and /48 of the victims, those with the most first; the prefix itself of an attack that is spread. */
  prefixes: Type.Array(closedObject({ prefix: Type.String(), victims: Count })),
  prefix_count: Count,
  /** Peak of all attacks together. */
  peak_pps: Rate,
  peak_mbps: Rate,
  peak_sampling_error: Type.Optional(Rate),
  worst_attack: Type.Optional(Type.String()),
  /** Absent where they are not known of each attack. */
  packets: Type.Optional(Count),
  bits: Type.Optional(Count),
  dropped_packets: Type.Optional(Count),
  dropped_bits: Type.Optional(Count),
  passed_packets: Type.Optional(Count),
  passed_bits: Type.Optional(Count),
  /** Attacks with times in which the service did not run, which these lack. Absent where there is none. */
  attacks_not_counted: Type.Optional(Count),
  /** Attacks whose part of these is estimated from samples. Absent where there is none. */
  attacks_estimated: Type.Optional(Count),
  /** Absent where the capacity of the links is not known. */
  severity: Type.Optional(oneOf("low", "medium", "high", "critical")),
  /** Peak as a fraction of that capacity; absent for tenants. */
  link_share: Type.Optional(Rate),
  owner: Type.Optional(DeedWire),
  acknowledged: Type.Optional(DeedWire),
  classification: Type.Optional(closedObject({ ...DEED, is: oneOf(...INCIDENT_VERDICTS) })),
  /** That the caller may read. */
  note_count: Count,
  /** Handovers for the next shift that are not acknowledged. */
  open_handovers: Count,
};

export const IncidentRowWire = closedObject(ROW);
export type IncidentRowWire = Static<typeof IncidentRowWire>;

const MemberWire = closedObject({
  id: Type.String(),
  /** An address, or the prefix of an attack that is spread; absent: the hostgroup as a whole. */
  victim: Type.Optional(Type.String()),
  active: Type.Boolean(),
  started_at: Timestamp,
  ended_at: Type.Optional(Timestamp),
  peak_pps: Rate,
  peak_mbps: Rate,
});

const NoteWire = closedObject({
  id: Count,
  ...DEED,
  text: Type.String(),
  handover: Type.Boolean(),
  acknowledged: Type.Optional(DeedWire),
});

export const IncidentWire = closedObject({
  ...ROW,
  /** The attacks, oldest first; of more than 1000 those that ended first are left out. */
  members: Type.Array(MemberWire),
  /** Oldest first. */
  notes: Type.Array(NoteWire),
  ...SAVED_FIELD,
});
export type IncidentWire = Static<typeof IncidentWire>;

export const IncidentsWire = closedObject({
  incidents: Type.Array(IncidentRowWire),
  /** `before` of the next page; absent: there are no older ones. */
  next: Type.Optional(Type.String()),
});
export type IncidentsWire = Static<typeof IncidentsWire>;

const OrderFields = closedObject(
  {
    owner: Type.Optional(oneOf("take", "release")),
    acknowledge: Type.Optional(Type.Literal(true)),
    /** `none` removes it. */
    classification: Type.Optional(oneOf(...INCIDENT_VERDICTS, "none")),
    handover: Type.Optional(Type.Literal("acknowledge")),
  },
  { minProperties: 1 },
);
const orderFields = fieldCheck(OrderFields);

export const incidentOrderCheck: FieldCheck<WorkOrder> = {
  schema: OrderFields,
  check(value) {
    const checked = orderFields.check(value);
    if (checked.kind !== "fields") return checked;
    const { classification, ...order } = checked.fields;
    if (classification === undefined) return { kind: "fields", fields: order };
    return { kind: "fields", fields: { ...order, classification: classification === "none" ? null : classification } };
  },
};

const NoteFields = closedObject({
  text: Type.String({ minLength: 1, maxLength: INCIDENT_NOTE_MAX }),
  handover: Type.Optional(Type.Boolean()),
});
const noteFields = fieldCheck(
  closedObject({ text: Type.String({ minLength: 1 }), handover: Type.Optional(Type.Boolean()) }),
);

export const incidentNoteCheck: FieldCheck<NoteOrder> = {
  schema: NoteFields,
  check(value) {
    const checked = noteFields.check(value);
    if (checked.kind !== "fields") return checked;
    const text = checked.fields.text.toWellFormed();
    const detail = plainTextFault("text", text, INCIDENT_NOTE_MAX);
    if (detail !== null) return { kind: "invalid_body", detail };
    return { kind: "fields", fields: { text, isHandover: checked.fields.handover ?? false } };
  },
};

/** A reader sees what its own tenant's callers did; of others that they did it, and when. */
type Reader = Pick<Principal, "tenant">;

export function incidentRow(view: IncidentView, reader: Reader): IncidentRowWire {
  const { peaks, severity, victims, work } = view;
  const { packets: pps, bits: bps } = peaks;
  const error = Math.max(pps.error, bps.error);
  const notes = notesFor(view, reader);
  return omitNulls({
    id: view.id,
    state: view.state,
    tenant: view.tenant,
    group: view.group,
    direction: view.direction,
    kind: view.kind,
    started_at: timestamp(view.startedAt),
    ended_at: view.endedAt === null ? null : timestamp(view.endedAt),
    attacks: view.attacks,
    active_attacks: view.active,
    victims: victims.count,
    victims_at_least: view.isWhole ? null : (true as const),
    prefixes: victims.prefixes.map(({ prefix, victims: count }) => ({ prefix, victims: count })),
    prefix_count: victims.prefixCount,
    peak_pps: rateOf(pps),
    peak_mbps: round(bps.rate / 1e6),
    peak_sampling_error: error === 0 ? null : round(error),
    worst_attack: view.worst?.id ?? null,
    ...sumsToWire(view.sums),
    severity: severity?.severity ?? null,
    link_share: severity === null || reader.tenant !== null ? null : round(severity.linkShare),
    owner: deedToWire(work.owner, reader),
    acknowledged: deedToWire(work.acknowledged, reader),
    classification: work.verdict === null ? null : { ...deedOf(work.verdict, reader), is: work.verdict.is },
    note_count: notes.length,
    open_handovers: openHandovers({ ...work, notes }).length,
  });
}

export function incidentToWire(view: IncidentView, reader: Reader, settled = SETTLED): IncidentWire {
  return {
    ...incidentRow(view, reader),
    members: view.members().map(memberToWire),
    notes: notesFor(view, reader).map((note) => noteToWire(note, reader)),
    ...savedToWire(settled),
  };
}

function rateOf({ rate }: PeakRate): number {
  return round(rate);
}

/** If a sum is not known of one attack, it is not known of all. */
function sumsToWire(sums: Sums) {
  const isMeasured = sums.unmeasured === 0;
  const isAccounted = isMeasured && sums.unaccounted === 0;
  const [packets, bits] = [Math.round(sums.packets), Math.round(sums.bits)];
  const [droppedPackets, droppedBits] = [Math.round(sums.droppedPackets), Math.round(sums.droppedBits)];
  return {
    packets: isMeasured ? packets : null,
    bits: isMeasured ? bits : null,
    dropped_packets: isAccounted ? droppedPackets : null,
    dropped_bits: isAccounted ? droppedBits : null,
    passed_packets: isAccounted ? Math.max(0, packets - droppedPackets) : null,
    passed_bits: isAccounted ? Math.max(0, bits - droppedBits) : null,
    attacks_not_counted: sums.uncounted === 0 ? null : sums.uncounted,
    attacks_estimated: sums.estimated === 0 ? null : sums.estimated,
  };
}

function memberToWire({ id, victim, startedAt, endedAt, peakPps, peakBps }: Member): Static<typeof MemberWire> {
  return omitNulls({
    ...{ id, victim },
    active: endedAt === null,
    started_at: timestamp(startedAt),
    ended_at: endedAt === null ? null : timestamp(endedAt),
    peak_pps: round(peakPps),
    peak_mbps: round(peakBps / 1e6),
  });
}

function notesFor({ work: { notes } }: IncidentView, { tenant }: Reader): readonly IncidentNote[] {
  return tenant === null ? notes : notes.filter(({ by }) => by.tenant === tenant);
}

function noteToWire(note: IncidentNote, reader: Reader): Static<typeof NoteWire> {
  return omitNulls({
    id: note.id,
    ...deedOf(note, reader),
    text: note.text,
    handover: note.isHandover,
    acknowledged: deedToWire(note.acknowledged, reader),
  });
}

function deedToWire(deed: Deed | null, reader: Reader): Static<typeof DeedWire> | null {
  return deed === null ? null : deedOf(deed, reader);
}

function deedOf({ by, atMs }: Deed, { tenant }: Reader): Static<typeof DeedWire> {
  const isShown = by.operator !== "" && (tenant === null || by.tenant === tenant);
  return {
    at: timestamp(atMs),
    of: by.tenant === null ? "operator" : "tenant",
    ...(isShown && { by: by.operator }),
  };
}
