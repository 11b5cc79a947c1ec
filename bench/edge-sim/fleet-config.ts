/** A configuration for a service with a fleet of edge nodes: zones, placement, and one token per node. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOSTGROUPS_MAX, NODES_MAX, TOKENS_MAX, ZONES_MAX } from "../../src/limits.ts";

export interface FleetShape {
  readonly nodes: number;
  readonly zones: number;
  /** Number of hostgroups to which nodes and labelled zones are assigned; 0: every node serves every zone. */
  readonly groups: number;
  readonly seed: number;
}

export interface FleetNode {
  readonly name: string;
  readonly tokenEnv: string;
  readonly secret: string;
}

const ADMIN = { name: "noc", tokenEnv: "FW_NOC" } as const;
const SHAPE_FILE = "fleet.json";
/** Owner of every fourth zone. */
const TENANT = "acme";
/** With hostgroups, one of this number of zones is for every node. */
const UNLABELLED_SHARE = 10;

export class FleetConfig {
  readonly shape: FleetShape;
  readonly nodes: readonly FleetNode[];

  constructor(shape: FleetShape) {
    const { nodes, zones, groups, seed } = shape;
    const most = Math.min(NODES_MAX, TOKENS_MAX - 1);
    if (nodes > most || zones > ZONES_MAX || groups > Math.min(256, HOSTGROUPS_MAX, nodes)) {
      throw new Error(`at most ${most} nodes, ${ZONES_MAX} zones, and a hostgroup for each node up to 256`);
    }
    this.shape = shape;
    this.nodes = Array.from({ length: nodes }, (_, i) => ({
      name: `edge-${i + 1}`,
      tokenEnv: `FW_EDGE_${i + 1}`,
      secret: secretOf(seed, `edge-${i + 1}`),
    }));
  }

  /** Reads the shape from a folder that was written before. */
  static readFrom(directory: string): FleetConfig {
    return new FleetConfig(JSON.parse(readFileSync(join(directory, SHAPE_FILE), "utf8")) as FleetShape);
  }

  /**
   * Files for a service that is started by hand: its configuration, the zones file, and the tokens, readable only by
   * their owner.
   */
  writeTo(directory: string): void {
    const path = (name: string) => join(directory, name);
    const secrets = Object.entries(this.secrets()).map(([name, secret]) => `${name}=${secret}\n`);
    const own = `api: { env_file: ${path("tokens.env")}, ${this.tokens()} }\nstate_dir: ${path("state")}\n`;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(path("floodwall.yaml"), own + this.text(path("zones.yaml")));
    writeFileSync(path("zones.yaml"), this.zonesText());
    writeFileSync(path("tokens.env"), secrets.join(""), { mode: 0o600 });
    writeFileSync(path(SHAPE_FILE), JSON.stringify(this.shape));
  }

  get adminSecret(): string {
    return secretOf(this.shape.seed, ADMIN.name);
  }

  /** The keys except `api` and `state_dir`. */
  text(zonesFile: string): string {
    const { groups } = this.shape;
    const hostgroups = Array.from({ length: groups }, (_, i) => ({ name: groupName(i), networks: [`10.${i}.0.0/16`] }));
    const nodes = this.nodes.map(({ name }, i) => ({
      name,
      ...(groups > 0 && { hostgroups: [groupName(i % groups)] }),
    }));
    return `networks: [10.0.0.0/8]
thresholds: { pps: 100000, mbps: 1000, flows_per_sec: 100000 }
${groups > 0 ? `hostgroups: ${JSON.stringify(hostgroups)}\n` : ""}edge: { zones_file: ${zonesFile}, nodes: ${JSON.stringify(nodes)} }
`;
  }

  /** The tokens, in flow style: `tokens: […]`. */
  tokens(): string {
    const agents = this.nodes.map(({ name, tokenEnv }) => ({ name, token_env: tokenEnv, role: "agent", node: name }));
    const admin = { name: ADMIN.name, token_env: ADMIN.tokenEnv, role: "operator" };
    return `tokens: ${JSON.stringify([admin, ...agents])}`;
  }

  secrets(): Record<string, string> {
    const agents = this.nodes.map(({ tokenEnv, secret }) => [tokenEnv, secret]);
    return Object.fromEntries([[ADMIN.tokenEnv, this.adminSecret], ...agents]) as Record<string, string>;
  }

  /** The zones file. Each revision changes every zone. */
  zonesText(revision = 0): string {
    return JSON.stringify({ zones: Array.from({ length: this.shape.zones }, (_, i) => this.#zone(i, revision)) });
  }

  zoneName(i: number): string {
    return `zone-${String(i + 1).padStart(4, "0")}.example.net`;
  }

  /** null: for every node. */
  groupOfZone(i: number): string | null {
    const { groups } = this.shape;
    return groups === 0 || i % UNLABELLED_SHARE === 0 ? null : groupName(i % groups);
  }

  #zone(i: number, revision: number) {
    const hostgroup = this.groupOfZone(i);
    return {
      name: this.zoneName(i),
      ...(i % 4 === 1 && { tenant: TENANT }),
      ...(hostgroup !== null && { hostgroup }),
      origins: [`192.0.2.${1 + (i % 250)}:8443`, `origin-${i + 1}.example.net:443`],
      tls: { h3: i % 3 === 0 },
      policy: {
        mode: i % 16 === 15 ? "none" : "decide",
        challenge: i % 12 === 2 ? "manual" : i % 2 === 0 ? "off" : "auto",
        dry_run: i % 5 === 0,
        rate: { rps: 60 + (revision % 1000), concurrency: 100 },
        challenge_options: {
          dry_run: i % 2 === 0,
          exempt_paths: ["/health"],
          auto: { zone_rps: 400, hold_seconds: 60 },
        },
      },
    };
  }
}

function groupName(i: number): string {
  return `pop-${i + 1}`;
}

/** The same for the same seed, so that the writing and the running process need to share nothing else. */
function secretOf(seed: number, name: string): string {
  return createHash("sha256").update(`simulated ${seed} ${name}`).digest("base64url");
}
