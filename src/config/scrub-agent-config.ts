/**
 * The configuration of `floodwall scrub`: a small file of its own, with the same keys as the service's where they mean
 * the same.
 */
import { type Static, Type } from "@sinclair/typebox";
import { canBePresented } from "../access/tokens.ts";
import { ALLOWLIST_MAX } from "../limits.ts";
import { buildFilterRule } from "../mitigation/operator/rule-file.ts";
import { parseAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { ConfigPath, ConfigProblem } from "../schema/problem.ts";
import { boolean, closedObject, described, integer, list, text } from "../schema/schema-forms.ts";
import type { Finding, Pruned } from "../schema/shape.ts";
import { isLoopback, parseAddressOrPrefix, parseListen } from "../schema/text-forms.ts";
import { ANYWHERE, type ScrubAgentConfig } from "../scrub/agent/agent-config.ts";
import { type FileForm, parseFile } from "./load/load.ts";
import type { ReadConfigFile } from "./load/read-file.ts";
import type { ReadVariable } from "./load/secrets.ts";
import { readYaml } from "./load/yaml-document.ts";
import { dataplaneInterfacesAreUnique } from "./rules/dataplane.ts";
import { filterRulesAreWhole, filterRulesHaveRoom, setsOfFilterRulesExist } from "./rules/filter-rules.ts";
import { tunnelsFit } from "./rules/forward.ts";
import { prefixSetNamesAreUnique, prefixSetsHaveOneSource } from "./rules/prefix-sets.ts";
import { buildDataplane, NodeDataplaneSection } from "./sections/dataplane.ts";
import { buildDocumentBounds, DocumentBoundsSection } from "./sections/document-bounds.ts";
import { NodeFilterRules } from "./sections/filter-rules.ts";
import { buildPrefixSets, NodePrefixSetsSection } from "./sections/prefix-sets.ts";
import { hiddenRuleWarnings } from "./warnings/filter-rules.ts";

/** Bytes of a scrub node's configuration file. */
export const SCRUB_CONFIG_BYTES_MAX = 1024 * 1024;

/** Brains that a node polls; each has a document and a connection of its own. */
const CONTROLLERS_MAX = 8;

const ControllerSection = described(
  closedObject({
    url: described(text("httpServer"), "The service, or a proxy in front of it."),
    others: described(
      list(text("httpServer"), CONTROLLERS_MAX - 1),
      "The other brains of a cluster. The node polls all of them and enforces the rules of all; for one victim, the newest come first. They take the same token, and the same authority signed their certificates.",
    ),
    token_env: described(
      Type.Optional(text("variableName")),
      "The environment variable with the token of this node. Without it the node can only use a service that has no tokens.",
    ),
    ca_file: described(
      Type.Optional(text("absolutePath")),
      "The PEM file of the authority that signed the certificate of the service. Allowed with https only.",
      { ifAbsent: "the authorities of the system" },
    ),
    plain_http: described(
      boolean(false),
      "Allows http to another machine, where anyone on the network path can read the token and change the rules. To a loopback address http is always allowed.",
    ),
  }),
  "The service that the node gets its rules from.",
  { examples: [{ url: "https://floodwall.example.net:8443", token_env: "FLOODWALL_SCRUB_TOKEN" }] },
);

export const ScrubAgentFile = described(
  closedObject({
    dry_run: described(boolean(true), "While true, the node follows the rules of the service and drops nothing."),
    node: described(text("nodeName"), "The name of this node in `scrubbing.nodes` of the service."),
    controller: ControllerSection,
    dataplane: NodeDataplaneSection,
    bounds: DocumentBoundsSection,
    filter_rules: NodeFilterRules,
    prefix_sets: NodePrefixSetsSection,
    protected_whitelist: described(
      list(text("addressOrPrefix"), ALLOWLIST_MAX),
      "Destinations whose packets are never dropped here.",
    ),
    report_interval_seconds: described(
      integer(1, 3600, 10),
      "How often the node reports its load and its drops. With more than `scrubbing.stale_after_seconds` of the service, the node may be considered lost for up to 30 seconds after the service was away for long.",
    ),
    state_dir: described(
      text("absolutePath", { default: "/var/lib/floodwall" }),
      "The directory of the last rules, which a start without the service uses.",
    ),
    env_file: described(
      Type.Optional(text("absolutePath")),
      "A file of `NAME=value` lines with secrets, read again whenever it changes.",
    ),
    metrics_listen: described(
      Type.Optional(text("listen")),
      "The address and port where the node serves `/metrics`. Without it there are none.",
    ),
  }),
  "A scrub node reads its configuration from `/etc/floodwall/scrub.yaml`, or from the file that `--config` names. `node`, `controller` and `dataplane` are required.",
  {
    examples: [
      {
        dry_run: true,
        node: "scrub1",
        controller: { url: "https://floodwall.example.net:8443", token_env: "FLOODWALL_SCRUB_TOKEN" },
        dataplane: { interfaces: ["eth1"] },
        bounds: { networks: ["192.0.2.0/24"] },
        metrics_listen: "127.0.0.1:9641",
      },
    ],
  },
);
type ScrubAgentFile = Static<typeof ScrubAgentFile>;

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

/** Whether a file is for a scrub node and not for the service, by keys that only one of them has. */
export function isScrubAgentFile(bytes: Uint8Array): boolean {
  if (bytes.length > SCRUB_CONFIG_BYTES_MAX) return false;
  const { value } = readYaml(new TextDecoder().decode(bytes));
  if (typeof value !== "object" || value === null) return false;
  return !("networks" in value) && ("controller" in value || "node" in value);
}

function* crossFieldFindings(file: Pruned<ScrubAgentFile>): Generator<Finding> {
  yield* dataplaneInterfacesAreUnique(file);
  yield* tunnelsFit(file);
  yield* filterRulesAreWhole({ filter_rules: file.filter_rules, networks: file.bounds?.networks }, "bounds.networks");
  yield* filterRulesHaveRoom(file);
  yield* setsOfFilterRulesExist(file);
  yield* prefixSetNamesAreUnique(file);
  yield* prefixSetsHaveOneSource(file);
  yield* authorityGoesWithHttps(file);
  yield* plainHttpIsMeant(file);
  yield* controllersAreUnique(file);
}

function* authorityGoesWithHttps({ controller }: Pruned<ScrubAgentFile>): Generator<Finding> {
  if (controller?.ca_file === undefined) return;
  if (!urlsOf(controller).some(({ url }) => url.startsWith("http:"))) return;
  const keys = (controller.others ?? []).length > 0 ? "controller.url and controller.others" : "controller.url";
  yield { path: ["controller", "ca_file"], rule: `goes with https in ${keys} alone` };
}

function* controllersAreUnique({ controller }: Pruned<ScrubAgentFile>): Generator<Finding> {
  const known = new Set<string>();
  for (const { url, path } of urlsOf(controller)) {
    const { origin } = new URL(url);
    if (known.has(origin)) yield { path, rule: "is polled already: name each brain once" };
    known.add(origin);
  }
}

interface ControllerUrl {
  readonly url: string;
  readonly path: ConfigPath;
}

function urlsOf(controller: Pruned<ScrubAgentFile>["controller"]): readonly ControllerUrl[] {
  const { url, others = [] } = controller ?? {};
  const first = url === undefined ? [] : [{ url, path: ["controller", "url"] }];
  return [
    ...first,
    ...others.flatMap((url, i) => (url === undefined ? [] : [{ url, path: ["controller", "others", i] }])),
  ];
}

const HTTP_RISK = "is http: anyone on the network path can read the token and change the rules";

function* plainHttpIsMeant({ controller }: Pruned<ScrubAgentFile>): Generator<Finding> {
  if (controller?.plain_http === true) return;
  for (const { url, path } of urlsOf(controller)) {
    if (!isPlainHttp(url)) continue;
    yield { path, rule: `${HTTP_RISK}: use https, or allow it by controller.plain_http: true` };
  }
}

/** Whether it is http to another machine. */
function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || hostname === "localhost") return false;
  const address = parseAddress(hostname.replace(/^\[(.*)\]$/, "$1"));
  return address === null || !isLoopback(address);
}

/** Valid settings that may be unintended. */
export function* scrubAgentWarnings(config: ScrubAgentConfig, read: ReadVariable): Generator<Finding> {
  const { dryRun, controller, bounds } = config;
  if (dryRun) yield { path: ["dry_run"], rule: "is true: the rule document is followed, nothing is dropped" };
  for (const { url, path } of urlsOf(controller)) {
    if (isPlainHttp(url)) yield { path, rule: `${HTTP_RISK}; use https` };
  }
  if (bounds.networks === null) {
    const rule =
      "has no networks: an attacker who controls the service can have packets to every destination dropped here";
    yield { path: ["bounds"], rule };
  }
  yield* hiddenRuleWarnings(config.filterRules, bounds.networks ?? ANYWHERE);
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
      others: controller.others,
      tokenEnv: controller.token_env ?? null,
      caFile: controller.ca_file ?? null,
    },
    dataplane: buildDataplane({ enabled: true, ...file.dataplane }),
    bounds: buildDocumentBounds(file.bounds),
    filterRules: file.filter_rules.map(buildFilterRule),
    prefixSets: buildPrefixSets(file.prefix_sets),
    // The schema accepts only valid texts.
    protectedWhitelist: file.protected_whitelist.map((entry) => parseAddressOrPrefix(entry) as Prefix),
    reportIntervalSeconds: file.report_interval_seconds,
    stateDir: file.state_dir,
    envFile: file.env_file ?? null,
    metricsListen: metricsListen === undefined ? null : parseListen(metricsListen),
  };
}
