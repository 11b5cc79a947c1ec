/** Reads the rates of hosts and hostgroups from the packet path. */
import type { GroupRatesView, HostView } from "../http/backend.ts";
import { allocateHostRows, type HostRows, rowRates } from "../traffic/host-rows.ts";
import type { Floodwall } from "./floodwall.ts";
import { HostRowView } from "./host-row-view.ts";

/** Rows read from the addon in one crossing when all hosts are read. */
const HOST_CHUNK_ROWS = 65_536;

/** Rows whose baselines are read at once: it takes a small part of the time of a request's turn. */
const BASELINES_READ = 1024;

export class HostReadings {
  readonly #floodwall: Floodwall;
  /** Allocated at the first reading of hosts. */
  #rows: HostRows | null = null;
  /** One row for each hostgroup. */
  #sums: HostRows | null = null;

  constructor(floodwall: Floodwall) {
    this.#floodwall = floodwall;
  }

  *hosts(): Iterable<HostView> {
    const { packetPath, detector } = this.#floodwall;
    if (packetPath === null) return;
    this.#rows ??= allocateHostRows(HOST_CHUNK_ROWS);
    const rows = this.#rows;
    for (let cursor = 0; cursor >= 0; ) {
      // Taken when the rows are read, since the rows refer to these groups.
      const { hostgroups, detection } = this.#floodwall.config;
      const { windowMs } = detection;
      const isOutgoingJudged = hostgroups.some(({ thresholdsOutgoing }) => thresholdsOutgoing !== null);
      const tables = { attacks: detector.active, baselines: detector.baselines, isOutgoingJudged, windowMs };
      const { next, count } = packetPath.engine.readHosts(cursor, rows);
      for (let row = 0; row < count; row++) {
        const isPiece = row % BASELINES_READ === 0;
        if (isPiece) detector.baselines.readAhead(rows, Math.min(BASELINES_READ, count - row), row);
        yield new HostRowView(rows, row, hostgroups[rows.groups[row] as number], tables);
      }
      cursor = next;
    }
  }

  groupRates(): GroupRatesView[] | null {
    const { packetPath, config } = this.#floodwall;
    if (packetPath === null) return null;
    const { hostgroups } = config;
    if (this.#sums?.capacity !== hostgroups.length) this.#sums = allocateHostRows(hostgroups.length);
    const sums = this.#sums;
    packetPath.engine.readGroups(sums);
    return hostgroups.map(({ name, thresholds, thresholdsOutgoing }, row) => ({
      name,
      thresholds,
      thresholdsOutgoing,
      rates: rowRates(sums.incoming, row),
      ratesOut: rowRates(sums.outgoing, row),
    }));
  }
}
