/** Files of others that the configuration names and that cannot be used. */
import type { Registry } from "prom-client";
import { FILE_KINDS, type FileKind } from "../system/file-fault.ts";
import { MetricGroup } from "./metric-group.ts";

export class FileMetrics extends MetricGroup {
  readonly #faulty = this.gauge(
    "svc_faulty_files",
    "Files that the configuration names and that cannot be used now, by what they are for.",
    "kind",
  );

  constructor(registry: Registry) {
    super(registry);
    this.set([]);
  }

  set(faults: readonly { readonly kind: FileKind }[]): void {
    for (const kind of FILE_KINDS) {
      this.#faulty.set({ kind }, faults.filter((fault) => fault.kind === kind).length);
    }
  }
}
