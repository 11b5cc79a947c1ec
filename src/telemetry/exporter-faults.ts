/**
 * What is wrong with an exporter, judged by what can be measured of it: each fault with a value at which it begins, a
 * lower one at which it ends, and the time that it must last. Pure: `now` is an argument.
 */
import { durationText } from "./duration-text.ts";
import { lossOf, type Totals } from "./exporter-minute.ts";
import type { ExporterReading, Sampling } from "./exporter-reading.ts";

/** The worst first: the first of an exporter is its state. */
export const EXPORTER_FAULTS = [
  "silent",
  "undecodable",
  "unknown_sampling",
  "lying",
  "losing",
  "left_out",
  "clock_skewed",
] as const;
export type FaultKind = (typeof EXPORTER_FAULTS)[number];

/**
 * `begins` and `ends` are apart, so that a value in between changes nothing. `unknown`: nothing came lately that would
 * say more than is known already.
 */
export interface Symptom {
  readonly verdict: "begins" | "ends" | "between" | "unknown";
  /** What was measured, in words. */
  readonly text: string;
}

/** What the configuration says of an exporter. */
export interface ExporterTerms {
  readonly silentAfterMs: number;
  /** Its sampling rate is in the configuration. */
  readonly hasRate: boolean;
}

/** What symptoms are judged from. */
export interface Observed {
  readonly reading: ExporterReading;
  /** Of the last minute; null: the exporter is known for less than ten seconds. */
  readonly minute: Totals | null;
  /** Of the last 10 to 20 s: a burst that is over stays in the minute. null as the minute. */
  readonly recent: Totals | null;
  readonly terms: ExporterTerms;
  /** Changes of a sampling rate by half or more in the last ten minutes, and the last of them. */
  readonly swings: { readonly count: number; readonly last: Sampling | null };
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
  left_out: { beginMs: 60_000, endMs: 60_000 },
  clock_skewed: { beginMs: 60_000, endMs: 60_000 },
};

/** A share of records, 0 to 1, and how many there must be for a share to say something. */
const LOSS = { begins: 0.01, ends: 0.001, least: 10 } as const;
const UNDECODED = { begins: 0.01, ends: 0.001, least: 10 } as const;
const LEFT_OUT = { begins: 0.9, ends: 0.75, least: 100 } as const;
const SKEW_MS = { begins: 10_000, ends: 5000 } as const;
const SWINGS = { begins: 4, ends: 1 } as const;
/** Bytes of a packet with its frame: an IPv4 header alone, and the longest that offloads make. */
const FRAME_BYTES = { least: 34, most: 66_000 } as const;
const PACKETS_LEAST = 1000;

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
  return {
    verdict: verdictOf(Math.abs(skewMs), SKEW_MS),
    text: `its clock is ${durationText(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} the clock of this machine`,
  };
}

function undecodable({ minute, recent }: Spans, { undecoded: reasons, waitingBytes }: ExporterReading): Symptom {
  if (isWaiting(recent, waitingBytes)) {
    return { verdict: "begins", text: "data came without the templates that describe them" };
  }
  const { records, undecoded } = minute;
  const share = undecoded < UNDECODED.least ? 0 : undecoded / (undecoded + records);
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
  const what = isOwn
    ? "it should have sampled in the last minute it dropped itself"
    : "it sent in the last minute did not arrive";
  return { verdict: verdictOf(loss, LOSS), text: `${percent(loss)} of what ${what}` };
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
  late: "age: they tell of what is long over",
  site: "site",
};

/** Impossible whatever the network does: so it is not the traffic that it says. */
function lying({ packets, bytes }: Totals, { swings }: Observed): Symptom {
  const { count, last } = swings;
  const mean = packets < PACKETS_LEAST ? null : bytes / packets;
  if (mean !== null && (mean < FRAME_BYTES.least || mean > FRAME_BYTES.most)) {
    const than = mean < FRAME_BYTES.least ? "shorter than an IP header" : "longer than any packet";
    return { verdict: "begins", text: `its packets have ${Math.round(mean)} bytes on average, ${than}` };
  }
  const verdict = verdictOf(count, SWINGS);
  const rate = last === null ? "" : `, last to 1:${last.rate}`;
  return {
    verdict: mean === null && verdict === "ends" && packets > 0 ? "between" : verdict,
    text: `its sampling rate changed ${count} times in ten minutes by half or more${rate}`,
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

/** What an operator does about it. */
export const FAULT_REMEDIES: Readonly<Record<FaultKind, string>> = {
  silent:
    "see whether the router runs and exports, and whether the way from it to this port is open: without it, attacks that only it sees are not detected",
  undecodable:
    "let the router send its templates at least once a minute, and leave out what is named here; floodwall telemetry names it in full",
  unknown_sampling:
    "let the router export its sampler options, or write sampling_rate of this exporter (1 if it does not sample)",
  lying: "check the sampling of the router; if it says a wrong rate, write sampling_rate of this exporter",
  losing:
    "raise telemetry.listen.receive_buffer_mb if this machine lost datagrams, else look for loss on the way, or let the router sample less: rates are too low by as much",
  left_out: "check direction and interfaces of this exporter: hardly any of its traffic is judged",
  clock_skewed: "let the router and this machine take their time from NTP: records may be taken for late ones",
};
