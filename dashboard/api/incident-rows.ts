/** The rows of incidents, as the event stream brings them. */
import { signal } from "@preact/signals";
import type { IncidentRowWire, IncidentsWire } from "../../src/http/wire/incident.ts";

/** The newest rows that events brought; older ones are in the list that was read. */
const KEPT = 256;

/** By id, since the list was read last. */
export const changedIncidents = signal<ReadonlyMap<string, IncidentRowWire>>(new Map());

/** An event of the stream. */
export function tookIncident(row: IncidentRowWire): void {
  const rows = new Map(changedIncidents.peek());
  rows.delete(row.id);
  rows.set(row.id, row);
  const [oldest] = rows.keys();
  if (rows.size > KEPT && oldest !== undefined) rows.delete(oldest);
  changedIncidents.value = rows;
}

/**
 * The list as it was read with newer rows in place, and whether it must be read again: a row came, or another state.
 * @param isWanted whether a new row would be in the list
 */
export function withRows(
  list: IncidentsWire,
  newer: ReadonlyMap<string, IncidentRowWire>,
  isWanted: (row: IncidentRowWire) => boolean,
): { readonly list: IncidentsWire; readonly isStale: boolean } {
  const [newest] = list.incidents;
  const isNew = (row: IncidentRowWire) => isWanted(row) && (newest === undefined || row.id > newest.id);
  const incidents = list.incidents.map((row) => newer.get(row.id) ?? row);
  const isOther = list.incidents.some(({ state }, i) => incidents[i]?.state !== state);
  return { list: { ...list, incidents }, isStale: isOther || [...newer.values()].some(isNew) };
}
