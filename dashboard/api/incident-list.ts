/** A list of incidents that the event stream keeps current; without a stream it is read again and again. */
import { useEffect } from "preact/hooks";
import type { IncidentRowWire, IncidentsWire } from "../../src/http/wire/incident.ts";
import { changedIncidents, withRows } from "./incident-rows.ts";
import { streamState } from "./live.ts";
import { type Loaded, useResource } from "./resource.ts";

/** Between two readings of the list: without a stream, and with one, which brings what changes, ms. */
const POLL_MS = 3000;
const STREAMED_MS = 30_000;
/** Between an event that makes the list stale and its reading, ms. */
const STALE_MS = 1000;

/** @param isWanted whether a new incident would be in the list */
export function useIncidents(path: string, isWanted: (row: IncidentRowWire) => boolean) {
  const isStreamed = streamState.value === "live";
  const read = useResource<IncidentsWire>(path, isStreamed ? STREAMED_MS : POLL_MS);
  const { value } = read.state;
  const since = value.kind === "ready" ? value.atMs : null;
  // Rows from before the list was read are in it.
  useEffect(() => {
    changedIncidents.value = new Map();
  }, [since]);
  const merged = value.kind === "ready" ? withRows(value.data, changedIncidents.value, isWanted) : null;
  const isStale = merged?.isStale === true;
  useEffect(() => {
    if (!isStale) return undefined;
    const timer = setTimeout(() => void read.refresh(), STALE_MS);
    return () => clearTimeout(timer);
  }, [isStale]);
  const loaded: Loaded<IncidentsWire> =
    value.kind === "ready" && merged !== null ? { ...value, data: merged.list } : value;
  return { loaded, refresh: () => read.refresh() };
}
