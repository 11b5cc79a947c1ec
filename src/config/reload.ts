/** Which keys of a new configuration a running service cannot take over. All others apply at once. */
import type { Config } from "./config.ts";

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
  ["api.listen", ({ api }) => api],
];

/** Empty when `next` can be applied as a whole. The named keys keep their running values until the restart. */
export function restartKeys(running: Config, next: Config): string[] {
  const changed = RESTART_KEYS.filter(([, read]) => !isSame(read(running), read(next))).map(([key]) => key);
  // When a whole section comes or goes, its keys say nothing more.
  return changed.filter((key) => !changed.includes(key.split(".")[0] ?? "") || !key.includes("."));
}

/** Both are plain values made by the same code, so their keys come in the same order. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
