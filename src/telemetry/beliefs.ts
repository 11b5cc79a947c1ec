/**
 * An exporter as it is understood, in one line each: make, sampling rate, counters, times, interfaces, and what is left
 * out. An operator sees a wrong belief in it. Pure.
 */
import { durationText } from "./duration-text.ts";
import type { ExporterReading } from "./exporter-reading.ts";

export interface Belief {
  readonly about: "make" | "rate" | "counters" | "times" | "interfaces" | "left out";
  readonly text: string;
}

/** Private enterprise numbers of IANA's registry. */
const VENDORS: Readonly<Record<number, string>> = {
  ...{ 9: "Cisco", 637: "Nokia", 1991: "Brocade", 1916: "Extreme", 2011: "Huawei", 2636: "Juniper" },
  ...{ 3375: "F5", 4413: "Broadcom", 5951: "Citrix", 6527: "Nokia", 6871: "YAF", 6876: "VMware" },
  ...{ 8741: "SonicWall", 12356: "Fortinet", 14988: "MikroTik", 25461: "Palo Alto", 25506: "H3C" },
  ...{ 30065: "Arista", 35632: "nProbe", 41112: "Ubiquiti", 43874: "pmacct" },
};

const COUNTERS: Readonly<Record<string, string>> = {
  deltas: "what each flow had since its last record",
  totals: "totals of each flow, counted by what they grow",
  events: "a firewall's events: updates, and what the end of a flow has beyond them",
  packets: "sampled packets",
};

const SHOWN = 3;

export function beliefsOf(reading: ExporterReading): readonly Belief[] {
  return [
    { about: "make", text: makeText(reading) },
    { about: "rate", text: rateText(reading) },
    { about: "counters", text: countersText(reading) },
    { about: "times", text: timesText(reading) },
    { about: "interfaces", text: interfacesText(reading) },
    { about: "left out", text: leftOutText(reading) },
  ];
}

function makeText({ vendors, protocols }: ExporterReading): string {
  const names = [...new Set(vendors.map((vendor) => VENDORS[vendor] ?? `enterprise ${vendor}`))];
  const what = protocols.length === 0 ? "nothing that is understood" : protocols.join(", ");
  return names.length === 0
    ? `no sign of a vendor; sends ${what}`
    : `by its elements ${names.join(", ")}; sends ${what}`;
}

function rateText({ samplings, unknownRateRecords, impossibleRates }: ExporterReading): string {
  const rates = [...new Set(samplings.map(({ rate, origin }) => (rate === 0 ? "" : `1:${rate} by its ${origin}`)))];
  const known = rates.filter((text) => text !== "");
  const shown = known.slice(0, SHOWN).join(", ") + (known.length > SHOWN ? `, and ${known.length - SHOWN} more` : "");
  return [
    shown === "" ? "not said" : shown,
    ...(unknownRateRecords > 0 ? [`${unknownRateRecords} records without one count as 1:1`] : []),
    ...(impossibleRates > 0 ? [`${impossibleRates} that cannot be are not taken`] : []),
  ].join("; ");
}

function countersText({ traits, estimatedRecords, untrackedFlows }: ExporterReading): string {
  const kinds = traits.flatMap((trait) => COUNTERS[trait] ?? []);
  return [
    kinds.length === 0 ? "none seen" : kinds.join(", and "),
    ...(traits.includes("tunnels") ? ["packets within tunnels too"] : []),
    ...(estimatedRecords > 0 ? [`packets or bytes of ${estimatedRecords} records are estimated`] : []),
    ...(untrackedFlows > 0 ? [`${untrackedFlows} flows found no place`] : []),
  ].join("; ");
}

function timesText({ traits, countedLate, reportIntervalMs, clockSkewMs }: ExporterReading): string {
  const forms = [
    ...(traits.includes("uptimes") ? ["by its uptime"] : []),
    ...(traits.includes("wall_times") ? ["by the time of day"] : []),
    ...(traits.includes("packets") && traits.length === 1 ? ["when they come"] : []),
    ...(traits.includes("no_times") ? ["some flows without: they count when they come"] : []),
  ];
  return [
    forms.length === 0 ? "none seen" : forms.join(", "),
    ...(reportIntervalMs > 0 ? [`starts stay, flows are reported every ${durationText(reportIntervalMs)}`] : []),
    ...(countedLate > 0 ? [`off by more than five minutes: ${countedLate} records count when they come`] : []),
    ...(clockSkewMs === null ? [] : [`its clock is ${durationText(Math.abs(clockSkewMs))} off`]),
  ].join("; ");
}

function interfacesText({ interfaces }: ExporterReading): string {
  const said = interfaces.filter(({ index }) => index !== 0);
  const named = said.filter(({ name }) => name !== null).length;
  return said.length === 0 ? "not said" : `${said.length}, of ${named} the name is known`;
}

function leftOutText({ leftOut, notForUs, events }: ExporterReading): string {
  const counts = { ...leftOut, ...notForUs, events };
  const most = Object.entries(counts).filter(([, count]) => count > 0);
  if (most.length === 0) return "nothing";
  return most
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${reason.replaceAll("_", " ")}`)
    .join(", ");
}
