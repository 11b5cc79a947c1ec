/** Finds the keys of a new configuration whose changes need a restart. All other changes apply at once. */
import type { BgpConfig } from "../bgp/bgp-config.ts";
import type { DataplaneConfig } from "../dataplane/dataplane-config.ts";
import type { ApiConfig } from "../http/api-config.ts";
import { slotsPerBan } from "../mitigation/scrub/ban-slots.ts";
import { VXLAN_PORT } from "../native/constants.ts";
import { isLoopback } from "../schema/text-forms.ts";
import { defaultStoragePath, type StorageDriver } from "../storage/storage-config.ts";
import type { TelemetryConfig } from "../telemetry/telemetry-config.ts";
import type { Config } from "./config.ts";
import { ownInfrastructure } from "./own-addresses.ts";
import { MAX_HOSTS_DEFAULT } from "./sections/capture.ts";
import { CLICKHOUSE_BYTES_DEFAULT, HISTORY_BYTES_DEFAULT } from "./sections/storage.ts";

/**
 * By the key's name in the file. Adding or removing a section is reported as a change of the section. A key that is added
 * here also needs its running value in keepRestartKeys().
 */
const RESTART_KEYS: readonly (readonly [key: string, read: (config: Config) => unknown])[] = [
  ["capture", ({ capture }) => hasPackets(capture)],
  ["capture.interfaces", ({ capture }) => capture?.interfaces ?? []],
  ["capture.tunnels", ({ capture }) => capture?.tunnels ?? []],
  ["capture.decapsulate", ({ capture }) => capture?.decapsulate ?? []],
  ["capture.vxlan_ports", ({ capture }) => capture?.vxlanPorts ?? [VXLAN_PORT]],
  ["capture.pcap_file", ({ capture }) => capture?.pcapFile ?? null],
  ["capture.pace", ({ capture }) => capture?.pace ?? "real"],
  ["capture.max_hosts", ({ capture }) => capture?.maxHosts ?? MAX_HOSTS_DEFAULT],
  ["telemetry", ({ telemetry }) => telemetry !== null],
  ["telemetry.listen", ({ telemetry }) => telemetry?.listen],
  ["detection.window_ms", ({ detection }) => detection.windowMs],
  ["detection.tick_ms", ({ detection }) => detection.tickMs],
  ["state_dir", ({ stateDir }) => stateDir],
  ["bgp", ({ bgp }) => bgp !== null],
  ["bgp.speaker", ({ bgp }) => bgp?.speaker],
  ["bgp.grpc", ({ bgp }) => bgp?.grpc],
  ["bgp.instance", ({ bgp }) => bgp?.instance],
  ["bgp.local_asn", ({ bgp }) => bgp?.localAsn],
  ["bgp.router_id", ({ bgp }) => bgp?.routerId],
  ["bgp.listen", ({ bgp }) => bgp?.listen],
  ["dataplane", ({ dataplane }) => dataplane !== null],
  ["dataplane.enabled", ({ dataplane }) => dataplane?.enabled],
  ["dataplane.interfaces", ({ dataplane }) => dataplane?.interfaces],
  ["dataplane.xdp_mode", ({ dataplane }) => dataplane?.xdpMode],
  ["dataplane.pin_path", ({ dataplane }) => dataplane?.pinPath],
  ["dataplane.forward", ({ dataplane }) => dataplane?.forward],
  ["dataplane.tunnels", ({ dataplane }) => dataplane?.tunnels],
  ["dataplane.limits.max_dynamic_rules", ({ dataplane }) => dataplane?.maxDynamicRules],
  ["storage.driver", ({ storage }) => storage.driver?.kind],
  ["storage.path", ({ storage, stateDir }) => pathInFile(storage.driver, stateDir)],
  ["storage.max_bytes", ({ storage }) => configuredBytes(storage.driver)],
  [
    "storage.clickhouse",
    ({ storage }) => (storage.driver?.kind === "clickhouse" ? { ...storage.driver, maxBytes: null } : null),
  ],
  ["storage.retention_days", ({ storage }) => storage.retentionDays],
  ["storage.traffic_interval_seconds", ({ storage }) => storage.trafficIntervalSeconds],
  ["api.listen", ({ api: { host, port } }) => ({ host, port })],
  ["api.tls", ({ api: { tls } }) => tls],
  ["cluster", ({ cluster }) => cluster],
];

interface RestartCase {
  readonly key: string;
  /** Describes the change, for the reference. */
  readonly change: string;
  readonly applies: (running: Config, next: Config) => boolean;
}

/** Keys of which only some changes need a restart. */
const RESTART_CASES: readonly RestartCase[] = [
  { key: "thresholds_outgoing", change: "the first outgoing threshold of the file", applies: beginsOutgoing },
  { key: "ban.max_active_bans", change: "more than the running data plane has room for", applies: outgrowsSlots },
  {
    key: "api.tokens",
    change: "removing the last token while the API listens on an address that is not loopback",
    applies: (running, next) => opensRoutable(running.api, next.api),
  },
];

/** When a change of a key takes effect; `partly`: at a reload, except for the described change. */
export type ChangeTime =
  | { readonly kind: "reload" }
  | { readonly kind: "restart" }
  | { readonly kind: "partly"; readonly restart: string };

/**
 * @param key as in the file, without list indexes: `capture.interfaces.name`. For a section: when it is added or
 * removed.
 */
export function changeTime(key: string): ChangeTime {
  const isWithin = (outer: string) => key === outer || key.startsWith(`${outer}.`);
  const isWhole = (outer: string) => !RESTART_KEYS.some(([inner]) => inner.startsWith(`${outer}.`));
  if (RESTART_KEYS.some(([outer]) => outer === key || (isWithin(outer) && isWhole(outer)))) return { kind: "restart" };
  const found = RESTART_CASES.find((one) => key === one.key || key === `hostgroups.${one.key}`);
  return found === undefined ? { kind: "reload" } : { kind: "partly", restart: found.change };
}

/** All keys of which a change may need a restart. */
export const RESTART_KEY_NAMES: readonly string[] = [
  ...RESTART_KEYS.map(([key]) => key),
  ...RESTART_CASES.map(({ key }) => key),
];

/** Empty if `next` can be applied as a whole. The returned keys keep their running values until the restart. */
export function restartKeys(running: Config, next: Config): string[] {
  const changed = RESTART_KEYS.filter(([, read]) => !isSame(read(running), read(next))).map(([key]) => key);
  for (const { key, applies } of RESTART_CASES) if (applies(running, next)) changed.push(key);
  // If a whole section is added or removed, its keys are not listed.
  return changed.filter((key) => !changed.includes(key.split(".")[0] ?? "") || !key.includes("."));
}

/** null: not set, so the path depends on state_dir. */
/** null: the default of the driver. */
function configuredBytes(driver: StorageDriver | null): number | null {
  if (driver === null) return null;
  const usual = driver.kind === "sqlite" ? HISTORY_BYTES_DEFAULT : CLICKHOUSE_BYTES_DEFAULT;
  return driver.maxBytes === usual ? null : driver.maxBytes;
}

function pathInFile(driver: StorageDriver | null, stateDir: string): string | null {
  return driver?.kind === "sqlite" && driver.path !== defaultStoragePath(stateDir) ? driver.path : null;
}

/** Telemetry alone needs a capture too, without a source. */
function hasPackets(capture: Config["capture"]): boolean {
  return capture !== null && (capture.interfaces.length + capture.tunnels.length > 0 || capture.pcapFile !== null);
}

/** `next` with the running values of the keys that need a restart. */
export function keepRestartKeys(running: Config, next: Config): Config {
  const { windowMs, tickMs } = running.detection;
  const kept = {
    ...next,
    capture: running.capture && { ...running.capture, linkMbps: next.capture?.linkMbps ?? null },
    telemetry: keepTelemetry(running.telemetry, next.telemetry),
    hostgroups: beginsOutgoing(running, next) ? withoutOutgoing(next.hostgroups) : next.hostgroups,
    detection: { ...next.detection, windowMs, tickMs },
    stateDir: running.stateDir,
    storage: running.storage,
    dataplane: keepDataplane(running.dataplane, next.dataplane),
    ban: outgrowsSlots(running, next) ? { ...next.ban, maxActiveBans: running.ban.maxActiveBans } : next.ban,
    bgp: keepBgp(running.bgp, next.bgp),
    mitigations: keepBlackholes(running, next),
    api: keepApi(running.api, next.api),
    cluster: running.cluster,
  };
  return Object.freeze({ ...kept, own: ownInfrastructure(kept) });
}

function keepTelemetry(running: TelemetryConfig | null, next: TelemetryConfig | null): TelemetryConfig | null {
  return running === null || next === null ? running : { ...next, listen: running.listen };
}

/** Outgoing traffic is counted from the start of the process or not at all. */
function beginsOutgoing(running: Config, next: Config): boolean {
  return running.capture?.countOutgoing === false && next.capture?.countOutgoing === true;
}

function withoutOutgoing(hostgroups: Config["hostgroups"]): Config["hostgroups"] {
  return hostgroups.map((group) => Object.freeze({ ...group, thresholdsOutgoing: null }));
}

/**
 * Without tokens the API is open, which is allowed on loopback addresses only: tokens are kept while another address is
 * in use.
 */
function keepApi(running: ApiConfig, next: ApiConfig): ApiConfig {
  const { host, port, tls, tokens, isShorthand } = running;
  return {
    ...next,
    host,
    port,
    tls,
    ...(opensRoutable(running, next) ? { tokens, isShorthand, callers: tokens } : {}),
  };
}

function opensRoutable(running: ApiConfig, next: ApiConfig): boolean {
  return next.tokens.length === 0 && !isLoopback(running.host);
}

function keepBgp(running: BgpConfig | null, next: BgpConfig | null): BgpConfig | null {
  if (running === null || next === null) return running;
  const { speaker, grpc, instance, localAsn, routerId, listen } = running;
  return { ...next, speaker, grpc, instance, localAsn, routerId, listen };
}

/** Kernel maps cannot be resized. */
function keepDataplane(running: DataplaneConfig | null, next: DataplaneConfig | null): DataplaneConfig | null {
  if (running === null || next === null) return running;
  return { ...running, onExit: next.onExit, allowlist: next.allowlist };
}

/** More bans than the slots of the running data plane. The file is valid because it also raises the number of slots. */
function outgrowsSlots({ dataplane }: Config, next: Config): boolean {
  return dataplane !== null && slotsPerBan(next) * next.ban.maxActiveBans > dataplane.maxDynamicRules;
}

/** Routes belong to the speaker: they are kept while its section waits for a restart. */
function keepBlackholes(running: Config, next: Config): Config["mitigations"] {
  if ((running.bgp === null) === (next.bgp === null)) return next.mitigations;
  const blackhole = running.mitigations[0]?.blackhole ?? null;
  return next.mitigations.map((mitigation) => Object.freeze({ ...mitigation, blackhole }));
}

/** Both are plain values built by the same code, so their keys are in the same order. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
