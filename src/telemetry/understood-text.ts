/** The parts of an exporter's datagrams that would be understood, in lines for people. */
import { beliefsOf } from "./beliefs.ts";
import { durationText } from "./duration-text.ts";
import type { ExporterReading, InterfaceReading, Sampling } from "./exporter-reading.ts";
import type { ListenerReading } from "./listener-reading.ts";

const INTERFACES_SHOWN = 16;
const REASONS_SHOWN = 8;
const SAMPLINGS_SHOWN = 8;

const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  sflow5: "sFlow 5",
  netflow5: "NetFlow 5",
  netflow9: "NetFlow 9",
  ipfix: "IPFIX",
};

const ORIGINS: Readonly<Record<string, string>> = {
  header: "as each datagram says",
  options: "as its options say",
  record: "as its records say",
  sample: "as its samples say",
};

/** @param seconds for which it was listened to. */
export function exporterLines(reading: ExporterReading, seconds: number): readonly string[] {
  const { address, listen, protocols, datagrams, records, interfaces } = reading;
  const names = protocols.map((protocol) => PROTOCOL_NAMES[protocol] ?? protocol).join(", ");
  const sum = (read: (one: InterfaceReading) => number) => interfaces.reduce((total, one) => total + read(one), 0);
  const rates = `about ${ratesText(
    sum(({ packetsIn }) => packetsIn),
    sum(({ bytesIn }) => bytesIn),
    seconds,
  )}`;
  return [
    `${address} sends ${names === "" ? "what is not understood" : names} to ${listen}: ${count(datagrams, "datagram")}, ${count(records, "record")}, ${rates}`,
    ...labelled(
      "taken for",
      beliefsOf(reading).map(({ about, text }) => `${about}: ${text}`),
    ),
    ...labelled("sampling", samplingLines(reading)),
    ...labelled("templates", [templatesText(reading)]),
    ...labelled("not understood", undecodedLines(reading)),
    ...labelled("estimated", estimatedLines(reading)),
    ...labelled("direction", [directionText(reading)]),
    ...labelled("interfaces", interfaceLines(interfaces, seconds)),
    ...labelled("clock", [clockText(reading)]),
    ...labelled("loss", [lossText(reading)]),
  ];
}

/** Datagrams that a port received and could not take. */
export function listenerLines({ listen, overruns, refused, withoutRoom }: ListenerReading): readonly string[] {
  return [
    ...(overruns > 0 ? [`${listen} lost ${count(overruns, "datagram")}, since its receive buffer was full`] : []),
    ...(refused > 0 ? [`${listen} refused ${count(refused, "datagram")}`] : []),
    ...(withoutRoom > 0 ? [`${listen} dropped ${count(withoutRoom, "datagram")} of exporters beyond the most`] : []),
  ];
}

function samplingLines({ samplings, unknownRateRecords }: ExporterReading): readonly string[] {
  const known = samplings.filter(({ rate }) => rate > 0).slice(0, SAMPLINGS_SHOWN);
  const unknown =
    unknownRateRecords === 0
      ? []
      : [`not known of ${count(unknownRateRecords, "record")}: write sampling_rate, 1 if it does not sample`];
  const lines = [...known.map(samplingText), ...unknown];
  return lines.length === 0 ? ["nothing says it yet"] : lines;
}

function samplingText({ domain, sampler, rate, origin }: Sampling): string {
  const how = rate === 1 ? "every packet" : `one packet in ${rate.toLocaleString("en-US")}`;
  return `${how}, ${ORIGINS[origin] ?? origin} (domain ${domain}, sampler ${sampler})`;
}

function templatesText({
  templates,
  keptSets,
  recoveredSets,
  waitingBytes,
  protocols,
  undecodedByKind,
}: ExporterReading) {
  const hasTemplates = protocols.some((protocol) => protocol === "netflow9" || protocol === "ipfix");
  if (!hasTemplates) return "none are needed";
  const lost = (undecodedByKind["template_unknown"] ?? 0) + (undecodedByKind["template_room"] ?? 0);
  const parts = [
    `${templates} known`,
    ...(keptSets > 0 ? [`${count(recoveredSets, "set")} of ${keptSets} that came before theirs understood later`] : []),
    ...(waitingBytes > 0 ? [`${count(waitingBytes, "byte")} wait for theirs`] : []),
    ...(lost > 0 ? [`${count(lost, "set")} given up: let the router send templates once a minute`] : []),
  ];
  return parts.join(", ");
}

function undecodedLines({ undecoded, undecodedByKind }: ExporterReading): readonly string[] {
  const all = Object.values(undecodedByKind).reduce((sum, one) => sum + one, 0);
  const shown = undecoded.slice(0, REASONS_SHOWN).map(({ reason, count: times }) => `${printable(reason)}: ${times}`);
  if (all === 0) return ["nothing"];
  if (shown.length > 0) return shown;
  return Object.entries(undecodedByKind).flatMap(([kind, times]) => (times > 0 ? [`${kind}: ${times}`] : []));
}

function estimatedLines({ estimatedRecords, events }: ExporterReading): readonly string[] {
  return [
    ...(estimatedRecords > 0
      ? [`${count(estimatedRecords, "record")} report packets without bytes, or bytes without packets`]
      : []),
    ...(events > 0 ? [`${count(events, "record")} count no packet: a firewall's events`] : []),
  ];
}

function directionText({ leftOut, counted }: ExporterReading): string {
  const egress = leftOut["direction"] ?? 0;
  if (egress === 0) return "ingress, or not said";
  if (counted === 0) return "egress alone: set direction: egress";
  return `${count(egress, "record")} of egress, which would not count`;
}

function interfaceLines(interfaces: readonly InterfaceReading[], seconds: number): readonly string[] {
  const busiest = interfaces.toSorted((a, b) => b.bytesIn + b.bytesOut - a.bytesIn - a.bytesOut);
  const lines = busiest.slice(0, INTERFACES_SHOWN).map((one) => {
    const name = one.index === 0 ? "not said" : `${one.index}${one.name === null ? "" : ` ${printable(one.name)}`}`;
    return `${name}: in ${ratesText(one.packetsIn, one.bytesIn, seconds)}; out ${ratesText(one.packetsOut, one.bytesOut, seconds)}`;
  });
  return interfaces.length > INTERFACES_SHOWN
    ? [...lines, `and ${interfaces.length - INTERFACES_SHOWN} more`]
    : lines.length === 0
      ? ["none is known"]
      : lines;
}

function clockText({ clockSkewMs, lateRecords }: ExporterReading): string {
  const late = lateRecords === 0 ? "" : `, ${count(lateRecords, "record")} late`;
  if (clockSkewMs === null) return `it does not say its time${late}`;
  return `${durationText(Math.abs(clockSkewMs))} ${clockSkewMs >= 0 ? "ahead of" : "behind"} this machine${late}`;
}

function lossText({ lostRecords, lostDatagrams, droppedSamples, reordered, restarts }: ExporterReading): string {
  const parts = [
    ...(lostRecords > 0 ? [`${count(lostRecords, "record")} missing`] : []),
    ...(lostDatagrams > 0 ? [`${count(lostDatagrams, "datagram")} missing`] : []),
    ...(droppedSamples > 0 ? [`${count(droppedSamples, "sample")} dropped by the router itself`] : []),
    ...(reordered > 0 ? [`${count(reordered, "datagram")} out of order`] : []),
    ...(restarts > 0 ? [`${count(restarts, "restart")}`] : []),
  ];
  return parts.length === 0 ? "none" : parts.join(", ");
}

function labelled(label: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, i) => `  ${(i === 0 ? label : "").padEnd(15)} ${line}`);
}

function ratesText(packets: number, bytes: number, seconds: number): string {
  const number = (value: number) => value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
  return `${number(packets / seconds)} packets/s, ${number((8 * bytes) / seconds / 1e6)} Mbit/s`;
}

function count(value: number, one: string): string {
  return `${value.toLocaleString("en-US")} ${one}${value === 1 ? "" : "s"}`;
}

/** An exporter's text may hold anything. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, "?");
}
