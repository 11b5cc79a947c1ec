/** The last good zones, kept in `state_dir`: a start must not depend on the zones file. */
import type { EdgeConfig } from "../edge/edge-config.ts";
import type { Zone } from "../edge/zones/zone.ts";
import { KeptFiles } from "../system/kept-file.ts";

/** In another form they are not read. */
const FORM = 1;
const NAME = "zones";
/** A zone as JSON is a few times as long as in its file, of 16 MiB. */
const BYTES_MAX = 128 * 1024 * 1024;
/** Zones written in one turn of the event loop. */
const SLICE = 100;

/** null: none of this file are kept. */
export function readKeptZones(stateDir: string, zonesFile: string): readonly Zone[] | null {
  const bytes = new KeptFiles(stateDir, NAME, BYTES_MAX).read(NAME, sourceOf(zonesFile));
  return bytes === null ? null : (JSON.parse(bytes.toString("utf8")) as Zone[]);
}

export class KeptZones {
  readonly #files: KeptFiles;
  readonly #nextTurn: () => Promise<void>;

  constructor(stateDir: string, nextTurn: () => Promise<void>) {
    this.#files = new KeptFiles(stateDir, NAME, BYTES_MAX);
    this.#nextTurn = nextTurn;
  }

  /** Rejects if they cannot be written. */
  async keep({ zonesFile, zones, areZonesKnown }: EdgeConfig): Promise<void> {
    if (zonesFile === null || !areZonesKnown) return;
    const parts: string[] = [];
    for (const [i, zone] of zones.entries()) {
      parts.push(JSON.stringify(zone));
      if (i % SLICE === SLICE - 1) await this.#nextTurn();
    }
    await this.#files.keep(NAME, sourceOf(zonesFile), Buffer.from(`[${parts.join()}]`));
  }
}

function sourceOf(zonesFile: string): string {
  return `${FORM} ${zonesFile}`;
}
