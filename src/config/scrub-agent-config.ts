/** The configuration of `floodwall scrub`: a small file of its own, with the words of the service's where they mean the same. */
import { type Static, Type } from "@sinclair/typebox";
import { canBePresented } from "../access/tokens.ts";
import { ALLOWLIST_MAX, SCRUB_CONFIG_BYTES_MAX } from "../limits.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import { type FileForm, parseFile, type ReadConfigFile } from "./load/load.ts";
import type { ConfigPath, ConfigProblem } from "./load/problem.ts";
import { boolean, closed, integer, list, text } from "./load/schema-forms.ts";
import type { ReadVariable } from "./load/secrets.ts";
import type { Finding, Pruned } from "./load/shape.ts";
import { parseAddressOrPrefix, parseListen } from "./load/text-forms.ts";
import { readYaml } from "./load/yaml-document.ts";
import { dataplaneInterfacesAreUnique } from "./rules/dataplane.ts";
import { buildDataplane, type DataplaneConfig, NodeDataplaneSection } from "./sections/dataplane.ts";

const ControllerSection = Type.Object(
  {
    url: text("httpServer"),
    token_env: Type.Optional(text("variableName")),
    ca_file: Type.Optional(text("absolutePath")),
  },
  closed,
);

const ScrubAgentFile = Type.Object(
  {
    dry_run: boolean(true),
    node: text("nodeName"),
    controller: ControllerSection,
    dataplane: NodeDataplaneSection,
    protected_whitelist: list(text("addressOrPrefix"), ALLOWLIST_MAX),
    report_interval_seconds: integer(1, 3600, 10),
    state_dir: text("absolutePath", { default: "/var/lib/floodwall" }),
    env_file: Type.Optional(text("absolutePath")),
    metrics_listen: Type.Optional(text("listen")),
  },
  closed,
);
type ScrubAgentFile = Static<typeof ScrubAgentFile>;

export interface ScrubAgentConfig {
  /** The document is followed and told of; the kernel drops nothing. */
  readonly dryRun: boolean;
  readonly node: string;
  readonly controller: {
    /** The service's, without a path. */
    readonly url: string;
    /** Name of the environment variable with the token; null: the service has none. */
    readonly tokenEnv: string | null;
    /** Of the authority that signed the service's certificate, PEM; null: one that the system knows. */
    readonly caFile: string | null;
  };
  readonly dataplane: DataplaneConfig;
  /** Destinations of which nothing is ever dropped here. */
  readonly protectedWhitelist: readonly Prefix[];
  readonly reportIntervalSeconds: number;
  readonly stateDir: string;
  /** Watched for variables; null: none. */
  readonly envFile: string | null;
  /** null: metrics are told to nobody. */
  readonly metricsListen: { readonly host: IpAddress; readonly port: number } | null;
}

export type LoadedScrubAgent =
  | { readonly kind: "valid"; readonly config: ScrubAgentConfig; readonly lineOf: (path: ConfigPath) => number }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

const FORM: FileForm<typeof ScrubAgentFile> = {
  schema: ScrubAgentFile,
  bytesMax: SCRUB_CONFIG_BYTES_MAX,
  crossFieldFindings,
  required: "node, controller and dataplane",
};

export function loadScrubAgent(read: ReadConfigFile): LoadedScrubAgent {
  if (read.kind === "invalid") return read;
  const parsed = parseFile(read.bytes, FORM);
  return parsed.kind === "valid" ? { kind: "valid", config: build(parsed.file), lineOf: parsed.lineOf } : parsed;
}

/** Whether a file is meant for a scrub node and not for the service: by the keys that only one of them has. */
export function isScrubAgentFile(bytes: Uint8Array): boolean {
  if (bytes.length > SCRUB_CONFIG_BYTES_MAX) return false;
  const { value } = readYaml(new TextDecoder().decode(bytes));
  if (typeof value !== "object" || value === null) return false;
  return !("networks" in value) && ("controller" in value || "node" in value);
}

function* crossFieldFindings(file: Pruned<ScrubAgentFile>): Generator<Finding> {
  yield* dataplaneInterfacesAreUnique(file);
  yield* authorityGoesWithHttps(file);
}

function* authorityGoesWithHttps({ controller }: Pruned<ScrubAgentFile>): Generator<Finding> {
  if (controller?.ca_file === undefined || controller.url?.startsWith("http:") !== true) return;
  yield { path: ["controller", "ca_file"], rule: "goes with https in controller.url alone" };
}

/** What is valid, and perhaps not meant. */
export function* scrubAgentWarnings({ dryRun, controller }: ScrubAgentConfig, read: ReadVariable): Generator<Finding> {
  if (dryRun) yield { path: ["dry_run"], rule: "is true: the rule document is followed, nothing is dropped" };
  const { protocol, hostname } = new URL(controller.url);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "http:" && !isLocal) {
    const rule = "is http: whoever is on the way can read the token and say what is dropped here; use https";
    yield { path: ["controller", "url"], rule };
  }
  const { tokenEnv } = controller;
  if (tokenEnv === null) {
    yield { path: ["controller"], rule: "has no token_env: only a service without tokens answers" };
    return;
  }
  const path: ConfigPath = ["controller", "token_env"];
  const secret = read(tokenEnv) ?? "";
  if (secret === "") yield { path, rule: `the environment variable ${tokenEnv} is not set` };
  else if (!canBePresented(secret)) {
    yield { path, rule: `the variable ${tokenEnv} holds more than visible ASCII, or a comma: no request can carry it` };
  }
}

function build(file: ScrubAgentFile): ScrubAgentConfig {
  const { controller, metrics_listen: metricsListen } = file;
  return {
    dryRun: file.dry_run,
    node: file.node,
    controller: {
      url: controller.url,
      tokenEnv: controller.token_env ?? null,
      caFile: controller.ca_file ?? null,
    },
    dataplane: buildDataplane({ enabled: true, ...file.dataplane }),
    // The schema let only such texts through.
    protectedWhitelist: file.protected_whitelist.map((entry) => parseAddressOrPrefix(entry) as Prefix),
    reportIntervalSeconds: file.report_interval_seconds,
    stateDir: file.state_dir,
    envFile: file.env_file ?? null,
    metricsListen: metricsListen === undefined ? null : parseListen(metricsListen),
  };
}
