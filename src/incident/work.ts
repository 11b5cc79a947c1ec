/**
 * The work of people on an incident: an owner, that it was seen, what it was, notes, and notes for the next shift
 * (docs/interface.md#incident-command). Pure. Where an operator without a tenant decided, a tenant does not decide
 * otherwise.
 */
import { type Callers, type Holder, Shares } from "../access/shares.ts";
import { INCIDENT_NOTES_MAX } from "../limits.ts";

export const INCIDENT_VERDICTS = ["real", "expected", "false_alarm"] as const;
export type IncidentVerdict = (typeof INCIDENT_VERDICTS)[number];

/** The person who did something, and the time: wall clock, ms, and later than all that was done before. */
export interface Deed {
  readonly by: Holder;
  readonly atMs: number;
}

export interface IncidentNote extends Deed {
  /** Unique within the incident, growing. */
  readonly id: number;
  readonly text: string;
  /** For the next shift, until its owner acknowledges it. */
  readonly isHandover: boolean;
  readonly acknowledged: Deed | null;
}

export interface Work {
  readonly owner: Deed | null;
  readonly acknowledged: Deed | null;
  readonly verdict: (Deed & { readonly is: IncidentVerdict }) | null;
  /** When the owner gave it up, and when the classification was removed, last; absent: never. Wall clock, ms. */
  readonly releasedMs?: number;
  readonly clearedMs?: number;
  /** Oldest first. */
  readonly notes: readonly IncidentNote[];
}

export const NO_WORK: Work = { owner: null, acknowledged: null, verdict: null, notes: [] };

export const WORK_REFUSALS = [
  "decided_by_operator",
  "not_owner",
  "taken_before",
  "no_handover",
  "too_many_notes",
  "notes_over_share",
] as const;
export type WorkRefusal = (typeof WORK_REFUSALS)[number];

/** A time that is later than all that was done, also by another brain whose clock is ahead. */
export function nextDeedMs(
  { owner, acknowledged, verdict, releasedMs, clearedMs, notes }: Work,
  wallMs: number,
): number {
  const deeds = [owner, acknowledged, verdict, ...notes, ...notes.map((note) => note.acknowledged)];
  const times = [releasedMs, clearedMs, ...deeds.map((deed) => deed?.atMs)];
  return Math.max(wallMs, ...times.map((ms) => (ms ?? 0) + 1));
}

/** Absent: unchanged. */
export interface WorkOrder {
  readonly owner?: "take" | "release";
  readonly acknowledge?: true;
  /** null: the classification is removed. */
  readonly classification?: IncidentVerdict | null;
  /** Acknowledges the open notes for the next shift. */
  readonly handover?: "acknowledge";
}

export interface NoteOrder {
  readonly text: string;
  readonly isHandover: boolean;
}

export type WorkAnswer =
  | { readonly kind: "work"; readonly work: Work }
  | { readonly kind: "refused"; readonly refusal: WorkRefusal };

/** Carries out all of the order or nothing. */
export function ordered(work: Work, order: WorkOrder, deed: Deed): WorkAnswer {
  const refusal = orderRefusal(work, order, deed);
  if (refusal !== null) return { kind: "refused", refusal };
  const owner = order.owner === undefined ? work.owner : order.owner === "take" ? deed : null;
  const verdict =
    order.classification === undefined
      ? work.verdict
      : order.classification === null
        ? null
        : { ...deed, is: order.classification };
  const acknowledged = order.acknowledge === true ? (work.acknowledged ?? deed) : work.acknowledged;
  const { atMs } = deed;
  const undone = {
    ...(order.owner === "release" && { releasedMs: atMs }),
    ...(order.classification === null && { clearedMs: atMs }),
  };
  const next = { ...work, owner, verdict, acknowledged, ...undone };
  if (order.handover === undefined) return { kind: "work", work: next };
  return acknowledgedHandover(next, deed);
}

export function noted(work: Work, { text, isHandover }: NoteOrder, deed: Deed, callers: Callers): WorkAnswer {
  const refusal = roomRefusal(work, deed.by, callers);
  if (refusal !== null) return { kind: "refused", refusal };
  const id = (work.notes.at(-1)?.id ?? 0) + 1;
  return {
    kind: "work",
    work: { ...work, notes: [...work.notes, { ...deed, id, text, isHandover, acknowledged: null }] },
  };
}

/** The notes for the next shift without an acknowledgement. */
export function openHandovers({ notes }: Work): readonly IncidentNote[] {
  return notes.filter(({ isHandover, acknowledged }) => isHandover && acknowledged === null);
}

function orderRefusal(work: Work, order: WorkOrder, { by }: Deed): WorkRefusal | null {
  const changed = [
    order.owner === undefined ? null : work.owner,
    order.classification === undefined ? null : work.verdict,
  ];
  const isForeign = changed.some((deed) => deed !== null && by.tenant !== null && deed.by.tenant === null);
  if (isForeign) return "decided_by_operator";
  return order.owner === "release" && work.owner === null ? "not_owner" : null;
}

/**
 * Acknowledges the notes that the caller sees: a tenant sees its own. Only the owner may, if the incident was taken
 * after the note was written: a shift whose token has the same name takes it again.
 */
function acknowledgedHandover(work: Work, deed: Deed): WorkAnswer {
  const { owner } = work;
  const open = openHandovers(work).filter(({ by }) => deed.by.tenant === null || by.tenant === deed.by.tenant);
  if (open.length === 0) return { kind: "refused", refusal: "no_handover" };
  if (owner === null || !isSame(owner.by, deed.by)) return { kind: "refused", refusal: "not_owner" };
  if (open.every(({ atMs }) => owner.atMs < atMs)) return { kind: "refused", refusal: "taken_before" };
  const isDue = (note: IncidentNote) => open.includes(note) && owner.atMs >= note.atMs;
  const notes = work.notes.map((note) => (isDue(note) ? { ...note, acknowledged: deed } : note));
  return { kind: "work", work: { ...work, notes } };
}

/** One incident has one customer: beside the administrators only callers of one tenant write there. */
function roomRefusal({ notes }: Work, by: Holder, { tokensOf }: Callers): WorkRefusal | null {
  const shares = new Shares(() => ({ tenants: 1, tokensOf }));
  for (const note of notes) shares.take(note.by);
  const overrun = shares.refusal(by, { capacity: INCIDENT_NOTES_MAX });
  if (overrun === null) return null;
  return overrun === "full" ? "too_many_notes" : "notes_over_share";
}

function isSame(a: Holder, b: Holder): boolean {
  return a.operator === b.operator && a.tenant === b.tenant;
}
