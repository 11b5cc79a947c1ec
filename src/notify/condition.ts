/**
 * Parts of the service, and of what it works with, that cease to work and work again: one table says for each kind how
 * urgent it is, its words, and what to do. Pure.
 */
import type { Severity } from "../targets/target-words.ts";

/** Kinds of events: that of the end by that of the begin. */
export const CONDITION_ENDS = {
  scrub_node_lost: "scrub_node_found",
  edge_node_lost: "edge_node_found",
  edge_node_fault: "edge_node_fault_over",
  capture_lost: "capture_restored",
  capture_losing: "capture_losing_over",
  speaker_down: "speaker_up",
  disk_nearly_full: "disk_nearly_full_over",
  diversion_begun: "diversion_ended",
  diversion_confirmed: "diversion_unconfirmed",
  diversion_lost: "diversion_lost_over",
  diversion_failed: "diversion_failed_over",
  diversion_stuck: "diversion_stuck_over",
} as const;
export type ConditionKind = keyof typeof CONDITION_ENDS;
export type ConditionEnd = (typeof CONDITION_ENDS)[ConditionKind];
export const CONDITION_KINDS = Object.keys(CONDITION_ENDS) as readonly ConditionKind[];

/** One part, and what is wrong with it. */
export interface Condition {
  /** Unique among those of a kind. */
  readonly name: string;
  /** Empty: it is over. */
  readonly found: string;
}

interface ConditionTraits {
  readonly severity: Severity;
  /** The part, before its name; then its state at the begin and at the end. */
  readonly subject: string;
  readonly begins: string;
  readonly ends: string;
  /** The effect, in a sentence. */
  readonly effect: string;
  readonly advice: string;
  /** The view of the dashboard. */
  readonly view: string;
  /** Counted, at the begin and at the end: one, and many. */
  readonly nouns: readonly [begin: readonly [string, string], end: readonly [string, string]];
  /** How long it must last to begin, and how long it must be absent to end, ms. Absent: 0. */
  readonly beginsAfterMs?: number;
  readonly endsAfterMs?: number;
}

export const CONDITIONS: Readonly<Record<ConditionKind, ConditionTraits>> = {
  scrub_node_lost: {
    severity: "critical",
    subject: "Scrub node",
    begins: "is lost",
    ends: "polls again",
    effect: "Bans that divert to it go to other nodes, or as scrubbing.on_all_nodes_lost says",
    advice: "Look whether the node runs and reaches this service",
    view: "scrub",
    nouns: [
      ["lost scrub node", "lost scrub nodes"],
      ["scrub node that polls again", "scrub nodes that poll again"],
    ],
  },
  edge_node_lost: {
    severity: "critical",
    subject: "Edge node",
    begins: "is lost",
    ends: "polls again",
    effect: "It keeps its last document, and gets no levers and certificates",
    advice: "Look whether the node runs and reaches this service",
    view: "edge",
    nouns: [
      ["lost edge node", "lost edge nodes"],
      ["edge node that polls again", "edge nodes that poll again"],
    ],
  },
  edge_node_fault: {
    severity: "critical",
    subject: "Edge node",
    begins: "does not serve what it gets",
    ends: "serves what it gets again",
    effect: "Changes of its zones have no effect there",
    advice: "Look at the log of the edge node",
    view: "edge",
    nouns: [
      ["edge node with a fault", "edge nodes with a fault"],
      ["edge node whose fault is over", "edge nodes whose fault is over"],
    ],
    beginsAfterMs: 30_000,
  },
  capture_lost: {
    severity: "critical",
    subject: "Capture on",
    begins: "is lost",
    ends: "works again",
    effect: "Attacks in this traffic are not detected; the capture is tried again every two seconds",
    advice: "Look whether the interface is there and up",
    view: "",
    nouns: [
      ["lost capture", "lost captures"],
      ["restored capture", "restored captures"],
    ],
    beginsAfterMs: 5_000,
    endsAfterMs: 5_000,
  },
  capture_losing: {
    severity: "warning",
    subject: "Capture on",
    begins: "loses packets",
    ends: "loses no packets any more",
    effect: "Rates are too low by this share",
    advice: "Use more queues, or pin the workers to CPUs",
    view: "",
    nouns: [
      ["capture that loses packets", "captures that lose packets"],
      ["capture that loses none any more", "captures that lose none any more"],
    ],
    beginsAfterMs: 10_000,
    endsAfterMs: 60_000,
  },
  speaker_down: {
    severity: "critical",
    subject: "BGP speaker",
    begins: "does not answer",
    ends: "answers again",
    effect: "Bans are not announced and not withdrawn",
    advice: "Look at the speaker's process and its log",
    view: "",
    nouns: [
      ["BGP speaker that does not answer", "BGP speakers that do not answer"],
      ["BGP speaker that answers again", "BGP speakers that answer again"],
    ],
    beginsAfterMs: 10_000,
  },
  disk_nearly_full: {
    severity: "critical",
    subject: "Disk of",
    begins: "is nearly full",
    ends: "has room again",
    effect: "On a full disk orders are refused, and history is lost",
    advice: "Make room on the disk, or lower storage.retention_days",
    view: "settings",
    nouns: [
      ["disk that is nearly full", "disks that are nearly full"],
      ["disk that has room again", "disks that have room again"],
    ],
    endsAfterMs: 300_000,
  },
  diversion_begun: {
    severity: "info",
    subject: "Diversion of",
    begins: "is requested",
    ends: "has ended",
    effect: "The scrubbing center gets the traffic of the prefix once it has confirmed it",
    advice: "Nothing has to be done",
    view: "mitigation",
    nouns: [
      ["diversion that is requested", "diversions that are requested"],
      ["diversion that has ended", "diversions that have ended"],
    ],
  },
  diversion_confirmed: {
    severity: "info",
    subject: "Diversion of",
    begins: "is confirmed",
    ends: "is not confirmed any more",
    effect: "The scrubbing center gets the traffic of the prefix",
    advice: "Nothing has to be done",
    view: "mitigation",
    nouns: [
      ["confirmed diversion", "confirmed diversions"],
      ["diversion that is not confirmed any more", "diversions that are not confirmed any more"],
    ],
  },
  diversion_lost: {
    severity: "critical",
    subject: "Diversion of",
    begins: "is lost",
    ends: "is not lost any more",
    effect:
      "Bans there act by their next rung, or by ban.fallback; without one traffic may come to the network unscrubbed",
    advice: "Look at the scrubbing center: it had confirmed the diversion",
    view: "mitigation",
    nouns: [
      ["lost diversion", "lost diversions"],
      ["diversion that is not lost any more", "diversions that are not lost any more"],
    ],
  },
  diversion_failed: {
    severity: "critical",
    subject: "Diversion of",
    begins: "has failed",
    ends: "is not failed any more",
    effect: "Bans there act by their next rung, or by ban.fallback",
    advice: "Look at the hook and at the scrubbing center",
    view: "mitigation",
    nouns: [
      ["failed diversion", "failed diversions"],
      ["diversion that is not failed any more", "diversions that are not failed any more"],
    ],
    endsAfterMs: 60_000,
  },
  diversion_stuck: {
    severity: "critical",
    subject: "Diversion of",
    begins: "does not end",
    ends: "has ended",
    effect: "The scrubbing center still has the traffic, though no ban needs it",
    advice: "Look at the hook, or end the diversion at the scrubbing center by hand",
    view: "mitigation",
    nouns: [
      ["diversion that does not end", "diversions that do not end"],
      ["diversion that has ended", "diversions that have ended"],
    ],
    beginsAfterMs: 300_000,
  },
};

const BEGINS: ReadonlyMap<string, ConditionKind> = new Map(
  CONDITION_KINDS.flatMap((kind) => [
    [kind, kind],
    [CONDITION_ENDS[kind], kind],
  ]),
);

/** The begin of an event's kind. Throws for one that is of no condition. */
export function conditionOf(kind: ConditionKind | ConditionEnd): ConditionKind {
  const begin = BEGINS.get(kind);
  if (begin === undefined) throw new Error(`${kind} is of no condition`);
  return begin;
}

export function isConditionEnd(kind: ConditionKind | ConditionEnd): kind is ConditionEnd {
  return conditionOf(kind) !== kind;
}
