/** The results of a replay as text for people. */
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { Reading } from "../detection/attack/attack-reading.ts";
import type { Share } from "../detection/attack/sample.ts";
import { bitsText, countText, volumeText } from "../detection/attack/volume-text.ts";
import { doingText } from "../mitigation/ban.ts";
import { etherTypesText } from "../traffic/ether-types.ts";
import { type Metric, round } from "../traffic/rates.ts";
import type { AttacksSize, BanEvent, ReplayEvent, ReplayTotals } from "./run.ts";

export function eventLines(event: ReplayEvent, timeMs: number): string[] {
  return linesOf(event).map((line) => `${new Date(timeMs).toISOString()}  ${line}`);
}

function linesOf(event: ReplayEvent): string[] {
  switch (event.kind) {
    case "attack":
      return [event.change === "ended" ? endLine(event.attack) : startLine(event.attack)];
    case "ban":
      return [banLine(event)];
    case "reading": {
      const { reading } = event;
      return [...(reading.isNewKind ? vectorLines(reading) : []), ...(reading.isComplete ? sampleLines(reading) : [])];
    }
    default:
      return event satisfies never;
  }
}

export function totalsLines(totals: ReplayTotals): string[] {
  const { packets, unjudgedRows, refusedAttacks, error } = totals;
  const { received, counted, untracked, foreign, parseErrors, etherTypes } = packets;
  return [
    `${received} packets: ${counted} counted, ${untracked} untracked, ${foreign} of no configured network`,
    ...Object.entries(parseErrors).map(([reason, count]) => {
      const types = reason === "not_ip" ? etherTypesText(etherTypes) : "";
      return `${count} not counted: ${reason}${types === "" ? "" : ` (${types})`}`;
    }),
    ...(unjudgedRows > 0 ? [`${unjudgedRows} times a host over a threshold was not judged for lack of space`] : []),
    ...(refusedAttacks > 0 ? [`${refusedAttacks} detections were refused because the table of attacks was full`] : []),
    ...(error === null ? [] : [`the capture ends early: ${error}`]),
    `attacks: ${totals.attacks}, still in progress at the end: ${totals.lasting.length}`,
    ...(totals.attacks === 0 ? [] : [sizeLine(totals.size)]),
  ];
}

function sizeLine({ packets, bits, peakPps, peakBps }: AttacksSize): string {
  const peaks = `${countText(peakPps)} packets/s, ${bitsText(peakBps)}/s`;
  return `attacks in all: ${countText(packets)} packets, ${bitsText(bits)}; highest peak ${peaks}`;
}

function startLine(attack: Attack): string {
  const { metric, threshold } = attack;
  return `attack started  ${victim(attack)}  ${metric} ${rateText(metric, attackRate(attack))} > ${threshold}`;
}

function endLine(attack: Attack): string {
  const seconds = ((attack.endedAt ?? attack.startedAt) - attack.startedAt) / 1000;
  const size = attack.volume === null ? "" : `: ${volumeText(attack.volume)}`;
  return `attack ended    ${victim(attack)}  after ${seconds.toFixed(1)} s${size}`;
}

function victim({ target, group, direction, carpet }: Attack): string {
  if (carpet !== null) return `${carpet.prefix} (${carpet.hosts} hosts)`;
  return `${target ?? `hostgroup ${group}`}${direction === "outgoing" ? " outgoing" : ""}`;
}

function vectorLines({ target, classification }: Reading): string[] {
  if (classification === null) return [];
  const { type, confidence, parts } = classification;
  const shares = parts.map((part) => `${part.type} ${Math.round(100 * part.share)} %`).join(", ");
  const several = parts.length > 1 ? `: ${shares}` : "";
  return [`attack vector   ${target}  ${type}, confidence ${confidence.toFixed(2)}${several}`];
}

function sampleLines({ target, sample }: Reading): string[] {
  if (sample === null) return [];
  const { protocols, topSources, topSourcePorts, topDestinationPorts, origins, totalPackets } = sample;
  const largest = ([share]: readonly Share[]) =>
    share === undefined ? "none" : `${share.key} ${Math.round((100 * share.packets) / totalPackets)} %`;
  const places = [origins?.topAsns ?? [], origins?.topCountries ?? []].filter(({ length }) => length > 0).map(largest);
  const where = places.length === 0 ? "" : ` (${places.join(", ")})`;
  const ports = `ports ${largest(topSourcePorts)} to ${largest(topDestinationPorts)}`;
  return [
    `attack sample   ${target}  ${largest(protocols)}, from ${largest(topSources)}${where}, ${ports}, of ${totalPackets} packets`,
  ];
}

function banLine({ change, ban }: BanEvent): string {
  if (ban.state === "withdrawn") return `ban withdrawn   ${ban.prefix.text}  ${ban.reason}`;
  if (ban.state === "rejected") return `ban refused     ${ban.prefix.text}  ${ban.reason}`;
  return `${change === "changed" ? "ban changed" : "ban"}`.padEnd(16) + doingText(ban);
}

function rateText(metric: Metric, rate: number): string {
  return metric.endsWith("mbps") ? String(round(rate)) : String(Math.round(rate));
}
