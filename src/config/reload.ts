/** Which keys of a new configuration a running service cannot take over. All others apply at once. */
import { SLOTS_PER_BAN } from "../limits.ts";
import type { BgpConfig, Config } from "./config.ts";
import { isLoopback } from "./load/text-forms.ts";
import type { ApiConfig } from "./sections/api.ts";
import type { DataplaneConfig } from "./sections/dataplane.ts";
import { defaultStoragePath, type StorageDriver } from "./sections/storage.ts";

/** By the key's name in the file. A section that comes or goes is named as such. */
const RESTART_KEYS: readonly (readonly [key: string, read: (config: Config) => unknown])[] = [
  ["capture", ({ capture }) => capture !== null],
  ["capture.interfaces", ({ capture }) => capture?.interfaces],
  ["capture.pcap_file", ({ capture }) => capture?.pcapFile],
  ["capture.pace", ({ capture }) => capture?.pace],
  ["capture.max_hosts", ({ capture }) => capture?.maxHosts],
  ["detection.window_ms", ({ detection }) => detection.windowMs],
  ["detection.tick_ms", ({ detection }) => detection.tickMs],
  ["state_dir", ({ stateDir }) => stateDir],
  ["bgp", ({ bgp }) => bgp !== null],
  ["bgp.speaker", ({ bgp }) => bgp?.speaker],
  ["bgp.grpc", ({ bgp }) => bgp?.grpc],
  ["bgp.local_asn", ({ bgp }) => bgp?.localAsn],
  ["bgp.router_id", ({ bgp }) => bgp?.routerId],
  ["bgp.listen", ({ bgp }) => bgp?.listen],
  ["dataplane", ({ dataplane }) => dataplane !== null],
  ["dataplane.enabled", ({ dataplane }) => dataplane?.enabled],
  ["dataplane.interfaces", ({ dataplane }) => dataplane?.interfaces],
  ["dataplane.xdp_mode", ({ dataplane }) => dataplane?.xdpMode],
  ["dataplane.pin_path", ({ dataplane }) => dataplane?.pinPath],
  ["dataplane.limits.max_dynamic_rules", ({ dataplane }) => dataplane?.maxDynamicRules],
  ["storage.driver", ({ storage }) => storage.driver?.kind],
  ["storage.path", ({ storage, stateDir }) => pathInFile(storage.driver, stateDir)],
  ["storage.clickhouse", ({ storage }) => (storage.driver?.kind === "clickhouse" ? storage.driver : null)],
  ["storage.retention_days", ({ storage }) => storage.retentionDays],
  ["storage.traffic_interval_seconds", ({ storage }) => storage.trafficIntervalSeconds],
  ["api.listen", ({ api: { host, port } }) => ({ host, port })],
];

/** Empty when `next` can be applied as a whole. The named keys keep their running values until the restart. */
export function restartKeys(running: Config, next: Config): string[] {
  const changed = RESTART_KEYS.filter(([, read]) => !isSame(read(running), read(next))).map(([key]) => key);
  if (beginsOutgoing(running, next)) changed.push("thresholds_outgoing");
  if (outgrowsSlots(running, next)) changed.push("ban.max_active_bans");
  if (opensRoutable(running.api, next.api)) changed.push("api.tokens");
  // When a whole section comes or goes, its keys say nothing more.
  return changed.filter((key) => !changed.includes(key.split(".")[0] ?? "") || !key.includes("."));
}

/** null: none was given, and it moves with state_dir. */
function pathInFile(driver: StorageDriver | null, stateDir: string): string | null {
  return driver?.kind === "sqlite" && driver.path !== defaultStoragePath(stateDir) ? driver.path : null;
}

/** `next` with the running values of the keys that need a restart. */
export function keepRestartKeys(running: Config, next: Config): Config {
  const { windowMs, tickMs } = running.detection;
  return Object.freeze({
    ...next,
    capture: running.capture,
    hostgroups: beginsOutgoing(running, next) ? withoutOutgoing(next.hostgroups) : next.hostgroups,
    detection: { ...next.detection, windowMs, tickMs },
    stateDir: running.stateDir,
    storage: running.storage,
    dataplane: keepDataplane(running.dataplane, next.dataplane),
    ban: outgrowsSlots(running, next) ? { ...next.ban, maxActiveBans: running.ban.maxActiveBans } : next.ban,
    bgp: keepBgp(running.bgp, next.bgp),
    mitigations: keepBlackholes(running, next),
    api: keepApi(running.api, next.api),
  });
}

/** What hosts send is counted from the start of the process or not at all. */
function beginsOutgoing(running: Config, next: Config): boolean {
  return running.capture?.countOutgoing === false && next.capture?.countOutgoing === true;
}

function withoutOutgoing(hostgroups: Config["hostgroups"]): Config["hostgroups"] {
  return hostgroups.map((group) => Object.freeze({ ...group, thresholdsOutgoing: null }));
}

/** Without tokens the API is open, which no address but a loopback one may be: then they stay as long as the address. */
function keepApi(running: ApiConfig, next: ApiConfig): ApiConfig {
  const { host, port, tokens, isShorthand } = running;
  return { ...next, host, port, ...(opensRoutable(running, next) ? { tokens, isShorthand } : {}) };
}

function opensRoutable(running: ApiConfig, next: ApiConfig): boolean {
  return next.tokens.length === 0 && !isLoopback(running.host);
}

function keepBgp(running: BgpConfig | null, next: BgpConfig | null): BgpConfig | null {
  if (running === null || next === null) return running;
  const { speaker, grpc, localAsn, routerId, listen } = running;
  return { ...next, speaker, grpc, localAsn, routerId, listen };
}

/** Its maps are as large as they were made. */
function keepDataplane(running: DataplaneConfig | null, next: DataplaneConfig | null): DataplaneConfig | null {
  if (running === null || next === null) return running;
  return { ...running, onExit: next.onExit, allowlist: next.allowlist };
}

/** More bans than the data plane of this process has slots for, which its file allows because it makes room as well. */
function outgrowsSlots({ dataplane }: Config, { ban }: Config): boolean {
  return dataplane !== null && SLOTS_PER_BAN * ban.maxActiveBans > dataplane.maxDynamicRules;
}

/** Routes go with the speaker: as long as it stays, or stays away, so do they. */
function keepBlackholes(running: Config, next: Config): Config["mitigations"] {
  if ((running.bgp === null) === (next.bgp === null)) return next.mitigations;
  const blackhole = running.mitigations[0]?.blackhole ?? null;
  return next.mitigations.map((mitigation) => Object.freeze({ ...mitigation, blackhole }));
}

/** Both are plain values made by the same code, so their keys come in the same order. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
