/** The cluster as the API sees it, also where there is none. */
import type { ClusterSource } from "../http/cluster-source.ts";
import type { Cluster } from "./cluster.ts";

/** As properties, which may be handed on. */
type ClusterCalls = {
  readonly [Name in keyof ClusterSource]: (
    ...order: Parameters<ClusterSource[Name]>
  ) => ReturnType<ClusterSource[Name]>;
};

/** @param cluster null: this brain is alone. */
export function clusterSource(cluster: Pick<Cluster, "report" | "kept"> | null): ClusterCalls {
  return {
    cluster: () => cluster?.report() ?? null,
    settled: async (isSaved, ...order) =>
      cluster === null ? { isSaved } : { isSaved, kept: await cluster.kept(...order) },
  };
}
