/** The cluster as the API sees it, also where there is none. */
import type { ClusterSource } from "../http/cluster-source.ts";
import type { Cluster } from "./cluster.ts";

/** @param cluster null: this brain is alone. */
export function clusterSource(cluster: Pick<Cluster, "report" | "kept"> | null): ClusterSource {
  return {
    cluster: () => cluster?.report() ?? null,
    settled: async (isSaved, ...order) =>
      cluster === null ? { isSaved } : { isSaved, kept: await cluster.kept(...order) },
  };
}
