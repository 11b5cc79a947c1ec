/** The configuration of a scrub node, and what it accepts from the service at most. */
import type { DataplaneConfig } from "../../dataplane/dataplane-config.ts";
import type { OperatorRule } from "../../mitigation/operator/operator-rule.ts";
import type { IpAddress } from "../../net/address.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import type { PrefixSetConfig } from "../../prefixset/prefix-set-config.ts";

export interface ScrubAgentConfig {
  /** The agent follows the document, but the kernel drops nothing. */
  readonly dryRun: boolean;
  readonly node: string;
  readonly controller: {
    /** The service's, without a path. */
    readonly url: string;
    /** The same of the other brains of a cluster, which take the same token. */
    readonly others: readonly string[];
    /** Name of the environment variable with the token; null: the service has none. */
    readonly tokenEnv: string | null;
    /** PEM file of the authority that signed the service's certificate; null: the system's authorities. */
    readonly caFile: string | null;
  };
  readonly dataplane: DataplaneConfig;
  /** Bounds of every document of the service. */
  readonly bounds: DocumentBounds;
  /** The rules of this node's operator, in the order in which they are tried. */
  readonly filterRules: readonly OperatorRule[];
  readonly prefixSets: readonly PrefixSetConfig[];
  /** Destinations whose packets are never dropped here. */
  readonly protectedWhitelist: readonly Prefix[];
  readonly reportIntervalSeconds: number;
  readonly stateDir: string;
  /** Watched for variables; null: none. */
  readonly envFile: string | null;
  /** null: metrics are not served. */
  readonly metricsListen: { readonly host: IpAddress; readonly port: number } | null;
}

export interface DocumentBounds {
  /** Destinations of rules lie inside; null: anywhere. */
  readonly networks: readonly Prefix[] | null;
  readonly shortestPrefix: { readonly 4: number; readonly 6: number };
  readonly maxSeconds: number;
  readonly maxRules: number;
}

/** Networks of rules where no bounds are given. */
export const ANYWHERE: readonly Prefix[] = ["0.0.0.0/0", "::/0"].map((text) => parsePrefix(text) as Prefix);
