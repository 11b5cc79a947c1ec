/** The parts of the edge channel as one interface, independent of how they are stored. */

import type { EdgeNodes } from "./edge-nodes.ts";
import type { EdgeReports } from "./reports/edge-reports.ts";
import type { AcmeIssuance } from "./zones/acme-issuance.ts";
import type { AgreedIssuance } from "./zones/agreed-issuance.ts";
import type { Levers } from "./zones/levers.ts";
import type { ZoneFeed } from "./zones/zone-feed.ts";

export interface Edge {
  readonly nodes: EdgeNodes;
  readonly feed: ZoneFeed;
  readonly levers: Levers;
  readonly acme: AcmeIssuance;
  /** The calls of nodes: `acme`, and in a cluster the agreement of its brains. */
  readonly issuance: AgreedIssuance;
  /** The nodes' reports. */
  readonly reports: EdgeReports;
  /** Whether the node was in dry run at its last report; null: no report yet, or it did not say. */
  reportedDryRun(node: string): boolean | null;
}
