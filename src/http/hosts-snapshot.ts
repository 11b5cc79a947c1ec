/**
 * The answer of GET /api/v1/hosts, written at most once a second however many ask: 100,000 hosts are about 27 MB of
 * JSON. It is written in slices, so that no other request waits for it, and kept as a Blob, which is sent uncopied.
 */
import type { Cancel, Timers } from "../system/timers.ts";
import type { HostView } from "./service.ts";
import { type HostWire, hostToWire } from "./wire/host.ts";

export interface HostsSnapshotOptions {
  readonly hosts: () => Iterable<HostView>;
  readonly timers: Pick<Timers, "after">;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

export const SNAPSHOT_MS = 1000;
/** About 2 ms of work. */
export const SLICE_HOSTS = 500;

const utf8 = new TextEncoder();

export class HostsSnapshot {
  readonly #options: HostsSnapshotOptions;
  #current: Promise<Blob> | null = null;
  #cancelForget: Cancel = () => {};

  constructor(options: HostsSnapshotOptions) {
    this.#options = options;
  }

  /** `{hosts: [HostStat]}` as of at most a second ago. Who asks while it is being written waits for the same one. */
  read(): Promise<Blob> {
    if (this.#current === null) {
      const written = this.#write();
      this.#current = written;
      written.then(
        () => this.#keep(written),
        () => this.#forget(),
      );
    }
    return this.#current;
  }

  close(): void {
    this.#cancelForget();
    this.#forget();
  }

  async #write(): Promise<Blob> {
    const parts = [utf8.encode('{"hosts":[')];
    for (const slice of slices(this.#options.hosts())) {
      parts.push(utf8.encode(parts.length === 1 ? slice : `,${slice}`));
      await this.#options.nextTurn();
    }
    parts.push(utf8.encode("]}"));
    return new Blob(parts);
  }

  #keep(written: Promise<Blob>): void {
    // Closed while it was being written.
    if (this.#current !== written) return;
    this.#cancelForget = this.#options.timers.after(SNAPSHOT_MS, () => this.#forget());
  }

  #forget(): void {
    this.#current = null;
  }
}

/** The hosts as JSON, comma-separated, SLICE_HOSTS at a time. */
function* slices(hosts: Iterable<HostView>): Generator<string> {
  let slice: HostWire[] = [];
  for (const host of hosts) {
    slice.push(hostToWire(host));
    if (slice.length === SLICE_HOSTS) {
      yield JSON.stringify(slice).slice(1, -1);
      slice = [];
    }
  }
  if (slice.length > 0) yield JSON.stringify(slice).slice(1, -1);
}
