/**
 * The answers to GET /api/v1/hosts without parameters, each written at most once a second for any number of callers:
 * 100,000 hosts are about 27 MB of JSON, kept as a Blob, which is sent without copying. Tenants share no hosts, so the
 * snapshots of all tenants together are at most as large as the one for unscoped callers.
 */
import type { Cancel, Timers } from "../../system/timers.ts";
import type { HostView } from "../backend.ts";
import { ListReader } from "../list-reader.ts";
import type { TablePass } from "../table-pass.ts";
import { hostToWire } from "../wire/traffic/host.ts";

/** Snapshots of all hosts that are kept, one per tenant; beyond that, they are written for each request. */
export const HOST_SNAPSHOTS_MAX = 256;

export const SNAPSHOT_MS = 1000;

/** The hostgroups whose hosts a caller may see; null: all. */
export type VisibleGroups = ReadonlySet<string> | null;

interface Snapshot {
  readonly groups: VisibleGroups;
  readonly written: Promise<Blob>;
  cancelForget: Cancel;
}

export class HostsSnapshots {
  readonly #pass: TablePass<HostView>;
  readonly #timers: Pick<Timers, "after">;
  /** By tenant; null: for unscoped callers. */
  readonly #snapshots = new Map<string | null, Snapshot>();

  constructor(pass: TablePass<HostView>, timers: Pick<Timers, "after">) {
    this.#pass = pass;
    this.#timers = timers;
  }

  /**
   * `{hosts: [HostStat]}`, at most a second old, and never with groups that belonged to the tenant only before a
   * reload.
   */
  read(tenant: string | null, groupsNow: () => VisibleGroups): Promise<Blob> {
    const groups = groupsNow();
    const current = this.#snapshots.get(tenant);
    if (current !== undefined && current.groups === groups) return current.written;
    const written = this.#pass.read(`all of ${JSON.stringify(tenant)}`, () => hostsReader(groupsNow()));
    this.#keep(tenant, { groups, written, cancelForget: () => {} });
    return written;
  }

  close(): void {
    for (const [tenant, snapshot] of this.#snapshots) this.#forget(tenant, snapshot);
  }

  #keep(tenant: string | null, snapshot: Snapshot): void {
    const previous = this.#snapshots.get(tenant);
    if (previous !== undefined) this.#forget(tenant, previous);
    if (this.#snapshots.size >= HOST_SNAPSHOTS_MAX) return;
    this.#snapshots.set(tenant, snapshot);
    const forget = () => this.#forget(tenant, snapshot);
    snapshot.written.then(() => {
      // It was removed while it was being written.
      if (this.#snapshots.get(tenant) !== snapshot) return;
      snapshot.cancelForget = this.#timers.after(SNAPSHOT_MS, forget);
    }, forget);
  }

  #forget(tenant: string | null, snapshot: Snapshot): void {
    snapshot.cancelForget();
    if (this.#snapshots.get(tenant) === snapshot) this.#snapshots.delete(tenant);
  }
}

function hostsReader(groups: VisibleGroups): ListReader<HostView> {
  return new ListReader("hosts", (host) => (isVisible(host, groups) ? hostToWire(host) : null));
}

/** Checks the group instead of the address: one lookup of a short name for each of a million hosts. */
export function isVisible(host: HostView, groups: VisibleGroups): boolean {
  return groups === null || groups.has(host.group);
}
