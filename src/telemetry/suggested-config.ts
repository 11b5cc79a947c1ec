/**
 * The lines of a configuration for exporters from which datagrams came. What only the operator knows stands there as a
 * comment.
 */
import type { ExporterReading, InterfaceReading } from "./exporter-reading.ts";

/** Interfaces that are named in a comment. */
const INTERFACES_SHOWN = 12;

/** Empty: no datagram was received. Each address and each port once, in the order of their first datagrams. */
export function suggestedConfig(readings: readonly ExporterReading[]): readonly string[] {
  if (readings.length === 0) return [];
  const listen = Map.groupBy(readings, (reading) => reading.listen);
  const addresses = Map.groupBy(readings, ({ address }) => address);
  return [
    "telemetry:",
    "  listen:",
    ...[...listen].map(([text, readings]) => listenLine(text, readings)),
    "  exporters:",
    ...[...addresses.values()].flatMap(exporterLines),
  ];
}

function listenLine(listen: string, readings: readonly ExporterReading[]): string {
  const at = listen.lastIndexOf(":");
  const address = listen.slice(0, at).replace(/^\[(.*)\]$/, "$1");
  const protocols = [...new Set(readings.flatMap((one) => one.protocols))].join(", ");
  const comment = protocols === "" ? "" : `  # ${protocols}`;
  return `    - {address: "${address}", port: ${listen.slice(at + 1)}}${comment}`;
}

function exporterLines(readings: readonly ExporterReading[]): readonly string[] {
  const [first] = readings;
  if (first === undefined) return [];
  const { address } = first;
  const interfaces = new Map(readings.flatMap((one) => one.interfaces.map((each) => [each.index, each])));
  const protocols = [...new Set(readings.flatMap((one) => one.protocols))];
  return [
    `    - address: "${address}"`,
    `      name: ${exporterName(address)}`,
    ...(protocols.length > 1
      ? [`      # It sends ${protocols.join(" and ")}: if both report the same packets, they count twice. Leave one.`]
      : []),
    ...samplingLines(readings),
    ...directionLines(readings),
    ...interfaceLines([...interfaces.values()]),
  ];
}

/** A name that the configuration takes. */
function exporterName(address: string): string {
  return `exporter-${address.replaceAll(":", "-")}`;
}

function samplingLines(readings: readonly ExporterReading[]): readonly string[] {
  const isUnknown = readings.some(({ unknownRateRecords }) => unknownRateRecords > 0);
  if (!isUnknown) return [];
  return [
    "      # It does not say how it samples: write here what the router is configured with, 1 if it does not sample.",
    "      # sampling_rate: 1000",
  ];
}

/** The readings are of ingress: what was left out for its direction is of egress. */
function directionLines(readings: readonly ExporterReading[]): readonly string[] {
  const egress = readings.reduce((sum, { leftOut }) => sum + (leftOut["direction"] ?? 0), 0);
  const ingress = readings.reduce((sum, { counted }) => sum + counted, 0);
  if (egress === 0) return [];
  if (ingress === 0) return ["      direction: egress  # it sends no records of ingress"];
  return ["      direction: ingress  # it sends records of egress too, which would count the same packets twice"];
}

function interfaceLines(interfaces: readonly InterfaceReading[]): readonly string[] {
  const used = interfaces.filter(({ index }) => index !== 0).toSorted((a, b) => b.bytesIn - a.bytesIn);
  if (used.length === 0) return [];
  const shown = used
    .slice(0, INTERFACES_SHOWN)
    .map(({ index, name }) => `${index}${name === null ? "" : ` ${comment(name)}`}`);
  const more = used.length > INTERFACES_SHOWN ? `, and ${used.length - INTERFACES_SHOWN} more` : "";
  return [
    "      # Those to other networks, so that each packet counts once where it comes in; the busiest first:",
    `      # ${shown.join(", ")}${more}`,
    `      # interfaces: {external: [${used[0]?.index}]}`,
  ];
}

/** A name comes from the network: without what would end the comment. */
function comment(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, "?");
}
