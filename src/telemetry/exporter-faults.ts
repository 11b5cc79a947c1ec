/**
 * Faults of an exporter, judged by what can be measured of it: each fault with a value at which it begins, a
 * lower one at which it ends, and the time that it must last. Pure: `now` is an argument.
 */
import { durationText } from "./duration-text.ts";
import { IMPOSSIBLE, lossOf, type Totals } from "./exporter-minute.ts";
import type { ExporterReading } from "./exporter-reading.ts";

/** The worst first: the first of an exporter is its state. */
export const EXPORTER_FAULTS = [
  "silent",
  "undecodable",
  "unknown_sampling",
  "lying",
  "losing",
  "no_records",
  "left_out",
  "untracked",
  "times_off",
  "clock_skewed",
] as const;
export type FaultKind = (typeof EXPORTER_FAULTS)[number];

/**
 * `begins` and `ends` are apart, so that a value in between changes nothing. `unknown`: nothing came recently that
 * would say more than is known already.
 */
export interface Symptom {
  readonly verdict: "begins" | "ends" | "between" | "unknown";
  /** The measurement, in words. */
  readonly text: string;
}

/** The part of the configuration about an exporter. */
export interface ExporterTerms {
  readonly silentAfterMs: number;
  /** Its sampling rate is in the configuration. */
  readonly hasRate: boolean;
}

/** The readings that symptoms are judged from. */
export interface Observed {
  readonly reading: ExporterReading;
  /** Totals of the last minute; null: the exporter is known for less than ten seconds. */
  readonly minute: Totals | null;
  /** Totals of the last 10 to 20 s: a burst that is over stays in the minute. null as the minute. */
  readonly recent: Totals | null;
  readonly terms: ExporterTerms;
}

/** How long a symptom must last before the fault begins, and be gone before it ends, ms. */
export const FAULT_TIMES: Readonly<Record<FaultKind, { readonly beginMs: number; readonly endMs: number }>> = {
  // The silence itself is the time.
  silent: { beginMs: 0, endMs: 0 },
  // A template and a sampling rate in options may take a while to be sent.
  undecodable: { beginMs: 60_000, endMs: 60_000 },
  unknown_sampling: { beginMs: 60_000, endMs: 0 },
  lying: { beginMs: 0, endMs: 60_000 },
  losing: { beginMs: 20_000, endMs: 60_000 },
  // Where little is sent, and of that little is sampled.
  no_records: { beginMs: 600_000, endMs: 0 },
  left_out: { beginMs: 60_000, endMs: 60_000 },
  untracked: { beginMs: 60_000, endMs: 60_000 },
  times_off: { beginMs: 0, endMs: 60_000 },
  clock_skewed: { beginMs: 60_000, endMs: 60_000 },
};

/** A share of records, 0 to 1, and how many there must be for a share to say something. */
const LOSS = { begins: 0.01, ends: 0.001, least: 10 } as const;
const UNDECODED = { begins: 0.01, ends: 0.001, least: 10 } as const;
const LEFT_OUT = { begins: 0.9, ends: 0.75, least: 100 } as const;
const SKEW_MS = { begins: 10_000, ends: 5000 } as const;
const TIMES_OFF = { begins: 0.5, ends: 0.1, least: 10 } as const;
const UNTRACKED = { begins: 0.1, ends: 0.01, least: 100 } as const;

export function symptomOf(kind: FaultKind, observed: Observed): Symptom {
  const { reading, minute, recent } = observed;
  switch (kind) {
    case "silent":
      return silence(observed);
    case "unknown_sampling":
      return minute === null || recent === null ? BETWEEN : unknownSampling({ minute, recent }, observed);
    case "clock_skewed":
      return skew(reading.clockSkewMs);
    case "undecodable":
      return minute === null || recent === null ? BETWEEN : undecodable({ minute, recent }, reading);
    case "losing":
      return minute === null ? BETWEEN : losing(minute);
    case "left_out":
      return minute === null ? BETWEEN : leftOut(minute, reading);
    case "lying":
      return minute === null ? BETWEEN : lying(minute, observed);
    case "no_records":
      return minute === null ? BETWEEN : noRecords(minute);
    case "times_off":
      return minute === null ? BETWEEN : timesOff(minute);
    case "untracked":
      return minute === null ? BETWEEN : untracked(minute);
    default:
      return kind satisfies never;
  }
}

const BETWEEN: Symptom = { verdict: "between", text: "" };
const UNKNOWN: Symptom = { verdict: "unknown", text: "" };

interface Spans {
  readonly minute: Totals;
  readonly recent: Totals;
}

function silence({ reading: { silentMs }, terms }: Observed): Symptom {
  return {
    verdict: silentMs >= terms.silentAfterMs ? "begins" : "ends",
    text: `no datagram for ${durationText(silentMs)}`,
  };
}

function unknownSampling({ minute, recent }: Spans, { reading, terms }: Observed): Symptom {
  if (terms.hasRate || minute.unknownRateRecords === 0) return { verdict: "ends", text: "" };
  if (recent.records === 0) return UNKNOWN;
  const unknown = reading.samplings.filter(({ rate }) => rate === 0);
  const domains = [...new Set(unknown.map(({ domain }) => domain))].slice(0, 5).join(", ");
  const where = domains === "" || domains === "0" ? "" : ` of domain ${domains}`;
  return {
    verdict: recent.unknownRateRecords > 0 ? "begins" : "ends",
    text: `the sampling rate${where} is not known: each sample counts as one packet, which is too few`,
  };
}

function skew(skewMs: number | null): Symptom {
  if (skewMs === null) return { verdict: "ends", text: "" };
  const off = durationText(Math.abs(skewMs));
  return {
    verdict: verdictOf(Math.abs(skewMs), SKEW_MS),
    text:
      skewMs > 0
        ? `its clock is ${off} ahead of the clock of this machine`
        : `its clock is ${off} behind the clock of this machine`,
  };
}

function undecodable({ minute, recent }: Spans, { undecoded: reasons, waitingBytes }: ExporterReading): Symptom {
  if (isWaiting(recent, waitingBytes)) {
    return { verdict: "begins", text: "data came without the templates that describe them" };
  }
  const { records, undecoded, datagrams, withoutTemplate } = minute;
  // A set of records without a template counts once, of which a datagram has one or two.
  const ofDatagrams = withoutTemplate / Math.max(datagrams, withoutTemplate, 1);
  const share = undecoded < UNDECODED.least ? 0 : Math.max(undecoded / (undecoded + records), ofDatagrams);
  const ofMinute = isWaiting(minute, waitingBytes) ? "begins" : verdictOf(share, UNDECODED);
  const isOver = ofMinute === "begins" && recent.undecoded === 0;
  if (isOver && recent.records === 0) return UNKNOWN;
  const most = reasons.toSorted((a, b) => b.count - a.count)[0];
  const why = most?.reason ?? "no reason is known";
  return {
    verdict: isOver ? "ends" : ofMinute,
    text: `${percent(share)} of what it sends is not understood: ${why}`,
  };
}

function isWaiting({ records, datagrams, withoutTemplate }: Totals, waitingBytes: number): boolean {
  return records === 0 && datagrams > 0 && withoutTemplate + waitingBytes > 0;
}

function losing(minute: Totals): Symptom {
  const { lostRecords, lostDatagrams, droppedSamples } = minute;
  const loss = lostRecords + lostDatagrams + droppedSamples < LOSS.least ? 0 : lossOf(minute);
  const isOwn = droppedSamples > lostRecords;
  const text = isOwn
    ? `it dropped ${percent(loss)} of what it should have sampled in the last minute`
    : `${percent(loss)} of what it sent in the last minute did not arrive`;
  return { verdict: verdictOf(loss, LOSS), text };
}

/** One that stands by in its site is left out on purpose. */
function leftOut({ records, leftOut: left }: Totals, { isActive, leftOut: reasons }: ExporterReading): Symptom {
  if (!isActive) return { verdict: "ends", text: "" };
  if (records < LEFT_OUT.least) return BETWEEN;
  const share = left / records;
  const most = Object.entries(reasons).toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? "";
  return {
    verdict: verdictOf(share, LEFT_OUT),
    text: `${percent(share)} of its records do not count, most of them because of their ${REASONS[most] ?? most}`,
  };
}

const REASONS: Readonly<Record<string, string>> = {
  direction: "direction",
  interface: "interfaces, which are not external",
  unknown_interface: "interfaces, whose names are not known",
  late: "age: they report what is long over",
  ...{ impossible_length: "lengths", impossible_count: "counters", impossible_speed: "bytes" },
  site: "site",
};

/** Impossible whatever the network does: it does not count, and one such value is enough to say so. */
function lying({ impossible, ...minute }: Totals, { reading: { leftOut: reasons }, terms }: Observed): Symptom {
  const impossibleRates = terms.hasRate ? 0 : minute.impossibleRates;
  if (impossible === 0 && impossibleRates === 0) return { verdict: "ends", text: "" };
  const most = IMPOSSIBLE.toSorted((a, b) => (reasons[b] ?? 0) - (reasons[a] ?? 0))[0];
  const text = [
    ...(impossibleRates > 0 ? ["it says a sampling rate above 1:1,048,576, which is not taken"] : []),
    ...(impossible > 0 && most !== undefined
      ? [`${impossible} of its records in the last minute do not count: ${IMPOSSIBLE_TEXTS[most]}`]
      : []),
  ].join("; ");
  return { verdict: "begins", text };
}

const IMPOSSIBLE_TEXTS: Readonly<Record<(typeof IMPOSSIBLE)[number], string>> = {
  impossible_length: "their packets are shorter than an IP header or longer than any packet",
  impossible_count: "a counter of theirs has gone below 0",
  impossible_speed:
    "they have more bytes than the fastest interface, or `fastest_interface_mbps`, carries in their time",
};

/** Data that is not understood is another fault. */
function noRecords({ datagrams, records, undecoded }: Totals): Symptom {
  const isEmpty = datagrams > 0 && records === 0 && undecoded === 0;
  const text = "it sends datagrams, and no record of traffic: templates, options or counters alone";
  return { verdict: isEmpty ? "begins" : records > 0 ? "ends" : "between", text };
}

/** They count when they come, which is right but for their delay. */
function timesOff({ countedLate, counted }: Totals): Symptom {
  const share = countedLate < TIMES_OFF.least ? 0 : countedLate / Math.max(counted, countedLate);
  return {
    verdict: verdictOf(share, TIMES_OFF),
    text: `${percent(share)} of its records say that they are of more than five minutes ago: they count when they come`,
  };
}

function untracked({ untrackedFlows, records }: Totals): Symptom {
  const share = untrackedFlows < UNTRACKED.least ? 0 : untrackedFlows / Math.max(records, untrackedFlows);
  return {
    verdict: verdictOf(share, UNTRACKED),
    text: `it reports totals of more flows than are tracked: ${percent(share)} of its records are of flows without a place`,
  };
}

function verdictOf(
  value: number,
  { begins, ends }: { readonly begins: number; readonly ends: number },
): Symptom["verdict"] {
  return value >= begins ? "begins" : value <= ends ? "ends" : "between";
}

function percent(share: number): string {
  return share > 0 && share < 0.01 ? `${(100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`;
}

/** The remedies for an operator. */
export const FAULT_REMEDIES: Readonly<Record<FaultKind, string>> = {
  silent:
    "see whether the router runs and exports, and whether the way from it to this port is open: without it, attacks that only it sees are not detected",
  undecodable:
    "let the router send its templates at least once a minute, and leave out what is named here; floodwall telemetry names it in full",
  unknown_sampling:
    "let the router export its sampler options, or write sampling_rate of this exporter (1 if it does not sample)",
  lying:
    "update the router's software, or let it export by another protocol (IPFIX, NetFlow 9, sFlow); of a wrong rate write sampling_rate of this exporter",
  losing:
    "raise telemetry.listen.receive_buffer_mb if this machine lost datagrams, else look for loss on the way, or let the router sample less: rates are too low by as much",
  no_records:
    "let the router sample the interfaces to other networks: an exporter without a sampled interface reports no traffic",
  left_out:
    "check direction and interfaces of this exporter, of which sFlow has numbers alone, no names: hardly any of its traffic is judged",
  untracked:
    "let the router report counts since the last record (elements 1 and 2), or shorten its inactive timeout: flows without a place are estimated",
  times_off:
    "let the router take its time from NTP, or update its software: its flows are counted late by as much as it holds them",
  clock_skewed: "let the router and this machine take their time from NTP: records may be taken for late ones",
};
