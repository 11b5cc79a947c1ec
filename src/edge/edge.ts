/** The edge channel, by its parts. Who puts them together knows what they are kept in. */
import type { AcmeIssuance } from "./acme-issuance.ts";
import type { EdgeNodes } from "./edge-nodes.ts";
import type { EdgeReports } from "./edge-reports.ts";
import type { Levers } from "./levers.ts";
import type { ZoneFeed } from "./zone-feed.ts";

export interface Edge {
  readonly nodes: EdgeNodes;
  readonly feed: ZoneFeed;
  readonly levers: Levers;
  readonly acme: AcmeIssuance;
  /** What the nodes report. */
  readonly reports: EdgeReports;
  /** Whether the node says that it only watches, by its last report; null: none yet, or it does not say. */
  reportedDryRun(node: string): boolean | null;
}
