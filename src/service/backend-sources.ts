/** The parts that answers of the API are made of, beside the engines. */

import type { SharedLinks } from "../access/guest-links.ts";
import type { Edge } from "../edge/edge.ts";
import type { NotifyTargets } from "../http/notify-targets.ts";
import type { SignInSource } from "../http/routes/sign-in.ts";
import type { Item } from "../machine/item.ts";
import type { PrefixSetView } from "../prefixset/prefix-sets.ts";
import type { Update } from "../release/update-check.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { FileFaultView } from "../system/file-fault.ts";
import type { HistoryRecorder } from "../traffic/history-recorder.ts";
import type { Cluster } from "./cluster.ts";

/** The store of history, as the backend reads it. */
export type History = Pick<HistoryStore, "ask"> & Partial<Pick<HistoryStore, "paused">>;

/** Optional parts beside the engines. */
export interface BackendSources {
  readonly edge: Edge;
  /** Absent: none are allowed. */
  readonly sharedLinks?: SharedLinks;
  /** Absent: there is no provider. */
  readonly signIn?: SignInSource;
  /** Absent: storage is off. */
  readonly history?: History | null;
  /** Traffic that is not stored yet; null: no traffic is recorded. */
  readonly recorder?: Pick<HistoryRecorder, "recent"> | null;
  /** Absent: update checks are off. */
  readonly availableUpdate?: () => Update | null;
  /** Findings of the machine check for this configuration; null: no check has finished. */
  readonly machineProblems?: () => readonly Item[] | null;
  /** Absent: there are none. */
  readonly prefixSets?: () => readonly PrefixSetView[];
  /** Absent: there are none. */
  readonly faultyFiles?: () => readonly FileFaultView[];
  /** null or absent: this brain is alone. */
  readonly cluster?: Pick<Cluster, "report" | "kept"> | null;
  /** Absent: there are none. */
  readonly notifyTargets?: () => NotifyTargets;
}
