/** Decisions on which brains cannot agree without a third place: they are stated before an operator finds out. */
import type { Finding } from "../../schema/shape.ts";
import type { Config } from "../config.ts";

export function* clusterWarnings({ cluster }: Pick<Config, "cluster">): Generator<Finding> {
  if (cluster === null || cluster.etcd !== null) return;
  const path = ["cluster"];
  yield {
    path,
    rule: "has no etcd: each brain gives the ACME slot of a zone by itself, so two edge nodes may order one certificate at once",
  };
  yield {
    path,
    rule: "has no etcd: while the brains do not reach each other, each sends its notifications, so people may get them twice",
  };
}
