/** The API's view of the cluster: its state, and the state of an order there. */
import type { ClusterReport } from "../cluster/cluster-view.ts";
import type { SharedTable } from "../cluster/order-exchange.ts";
import type { Settled } from "./wire/saved.ts";

export interface ClusterSource {
  /** null: this brain is alone. */
  cluster(): ClusterReport | null;
  /**
   * The state of an order that is in force, for its answer. It waits for the other brains of a cluster, a second at
   * most.
   * @param key of the table; of bans the prefix
   */
  settled(isSaved: boolean, table: SharedTable, key: string): Promise<Settled>;
}
