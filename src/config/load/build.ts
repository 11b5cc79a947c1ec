/** Converts a valid file to its domain form. All checks were done before. */

import type { BgpConfig, ListenAddresses } from "../../bgp/bgp-config.ts";
import type { CaptureConfig, CaptureInterface, CaptureTunnel } from "../../dataplane/capture-config.ts";
import type { Hostgroup } from "../../detection/hostgroup.ts";
import type { Zone } from "../../edge/zones/zone.ts";
import { buildWindow } from "../../mitigation/maintenance/window-file.ts";
import type { GroupMitigation } from "../../mitigation/mitigation-config.ts";
import { buildFilterRule } from "../../mitigation/operator/rule-file.ts";
import { VXLAN_PORT } from "../../native/constants.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { parseCommunity } from "../../net/community.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import { parseAddressOrPrefix, parseListen } from "../../schema/text-forms.ts";
import { NetworkLookup } from "../../traffic/network-lookup.ts";
import { METRICS, type Thresholds } from "../../traffic/rates.ts";
import type { Config } from "../config.ts";
import { ownInfrastructure } from "../own-addresses.ts";
import { buildApi } from "../sections/api.ts";
import { buildBaseline } from "../sections/baseline.ts";
import { buildPolicy, communitiesAtOf } from "../sections/bgp.ts";
import { MAX_HOSTS_DEFAULT } from "../sections/capture.ts";
import { buildCarpet } from "../sections/carpet.ts";
import { buildCluster } from "../sections/cluster.ts";
import { buildDataplane } from "../sections/dataplane.ts";
import { buildHook } from "../sections/diversion-hook.ts";
import { buildEdge } from "../sections/edge.ts";
import { buildMitigation, groupMitigationFile } from "../sections/mitigation.ts";
import { buildScrubbing } from "../sections/nodes.ts";
import { buildNotify, buildUpdateCheck } from "../sections/notify.ts";
import { buildTemplates } from "../sections/order-templates.ts";
import { buildPrefixSets } from "../sections/prefix-sets.ts";
import { buildSamples } from "../sections/samples.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { buildProfiles } from "../sections/scrub.ts";
import { buildStorage } from "../sections/storage.ts";
import { buildTelemetry } from "../sections/telemetry.ts";

type CaptureFile = NonNullable<ConfigFile["capture"]>;
type BgpFile = NonNullable<ConfigFile["bgp"]>;

/** Where flow records are all that comes. */
const NO_PACKETS: CaptureFile = {
  tunnels: [],
  decapsulate: [],
  vxlan_ports: [VXLAN_PORT],
  max_hosts: MAX_HOSTS_DEFAULT,
};

/** @param zones of the file that `edge` names. */
export function buildConfig(file: ConfigFile, zones: readonly Zone[]): Config {
  const hostgroups = buildHostgroups(file);
  const hasTraffic = file.capture !== undefined || file.telemetry !== undefined;
  const countOutgoing = hostgroups.some(({ thresholdsOutgoing }) => thresholdsOutgoing !== null);
  const levels = [file, ...file.hostgroups.map((group) => groupMitigationFile(file, group))];
  const mitigations = levels.map((level) => buildMitigation(level, file.scrub_profiles));
  const plain: PlainConfig = {
    dryRun: file.dry_run,
    networks: file.networks.map(prefix),
    protectedWhitelist: file.protected_whitelist.map((text) => Object.freeze(valid(parseAddressOrPrefix, text))),
    capture: hasTraffic ? buildCapture(file.capture ?? NO_PACKETS, countOutgoing) : null,
    telemetry: file.telemetry === undefined ? null : buildTelemetry(file.telemetry),
    detection: {
      windowMs: file.detection.window_ms,
      tickMs: file.detection.tick_ms,
      sustainMs: file.detection.sustain_ms,
      confidence: file.detection.sampling.confidence,
    },
    hostgroups,
    carpet: file.carpet === undefined ? null : buildCarpet(file.carpet),
    mitigations,
    scrubProfiles: buildProfiles(file.scrub_profiles),
    ban: {
      maxActiveBans: file.ban.max_active_bans,
      maxBannedFraction: file.ban.max_banned_fraction,
      orderWidestV4: file.ban.order_widest_v4,
      orderWidestV6: file.ban.order_widest_v6,
    },
    stateDir: file.state_dir,
    bgp: file.bgp === undefined ? null : buildBgp(file.bgp, mitigations),
    dataplane: file.dataplane === undefined ? null : buildDataplane(file.dataplane),
    orderTemplates: buildTemplates(file.order_templates),
    maintenance: file.maintenance.map(buildWindow),
    filterRules: file.filter_rules.map(buildFilterRule),
    prefixSets: buildPrefixSets(file.prefix_sets),
    samples: buildSamples(file.samples),
    storage: buildStorage(file.storage, file.state_dir),
    scrubbing: file.scrubbing === undefined ? null : buildScrubbing(file.scrubbing),
    diversionHook: file.scrubbing?.hook === undefined ? null : buildHook(file.scrubbing.hook),
    edge: file.edge === undefined ? null : buildEdge(file.edge, zones),
    notify: buildNotify(file.notify),
    updateCheck: buildUpdateCheck(file.update_check),
    api: buildApi(file.api),
    cluster: file.cluster === undefined ? null : buildCluster(file.cluster),
  };
  return completeConfig(plain, {
    lookup: NetworkLookup.of(plain),
    whitelist: PrefixTable.of(plain.protectedWhitelist),
  });
}

type ConfigTables = Pick<Config, "lookup" | "whitelist">;
export type PlainConfig = Omit<Config, keyof ConfigTables | "own">;

/**
 * Freezes all values except the items of prefix lists, whose type is read-only: freezing a list of a hundred thousand
 * items takes the engine 50 ms without interruption, and a reload must not delay detection. Each prefix itself is
 * frozen.
 */
export function completeConfig(plain: PlainConfig, tables: ConfigTables): Config {
  const { networks, protectedWhitelist, hostgroups, ...rest } = plain;
  for (const table of Object.values(tables)) Object.freeze(table);
  const groups = hostgroups.map(({ networks: members, ...group }) =>
    Object.freeze({ ...deepFreeze(group), networks: members }),
  );
  return Object.freeze({
    ...deepFreeze(rest),
    networks,
    protectedWhitelist,
    hostgroups: Object.freeze(groups),
    ...tables,
    own: ownInfrastructure(plain),
  });
}

/** `global` first; a group inherits the thresholds that it does not set. */
function buildHostgroups(file: ConfigFile): Hostgroup[] {
  const global: Hostgroup = {
    name: "global",
    tenant: file.tenant ?? null,
    networks: [],
    calculation: "per_host",
    thresholds: METRICS.map((metric) => file.thresholds[metric] ?? 0),
    thresholdsOutgoing: buildOutgoing(file.thresholds_outgoing, []),
    baseline: buildBaseline(file.baseline, null),
  };
  const groups = file.hostgroups.map(
    ({
      name,
      networks,
      calculation,
      thresholds,
      thresholds_outgoing: outgoing,
      baseline,
      tenant,
      contacts,
    }): Hostgroup => ({
      name,
      tenant: tenant ?? null,
      ...(contacts.length > 0 && { contacts }),
      networks: networks.map(prefix),
      calculation,
      thresholds: METRICS.map((metric, i) => thresholds[metric] ?? global.thresholds[i] ?? 0),
      thresholdsOutgoing: buildOutgoing(outgoing, global.thresholdsOutgoing ?? []),
      baseline: buildBaseline(baseline, global.baseline),
    }),
  );
  return [global, ...groups];
}

/** null: none is set. */
function buildOutgoing(file: ConfigFile["thresholds_outgoing"], inherited: Thresholds): Thresholds | null {
  const thresholds = METRICS.map((metric, i) => file?.[metric] ?? inherited[i] ?? 0);
  return thresholds.some((threshold) => threshold > 0) ? thresholds : null;
}

function buildCapture(file: CaptureFile, countOutgoing: boolean): CaptureConfig {
  return {
    interfaces: (file.interfaces ?? []).map(buildInterface),
    pcapFile: file.pcap_file ?? null,
    pace: file.pace ?? "real",
    tunnels: file.tunnels.map(buildTunnel),
    decapsulate: file.decapsulate,
    vxlanPorts: file.vxlan_ports,
    maxHosts: file.max_hosts,
    linkMbps: file.link_mbps ?? null,
    countOutgoing,
  };
}

function buildInterface(file: NonNullable<CaptureFile["interfaces"]>[number]): CaptureInterface {
  const { queues = "auto", zero_copy: zeroCopy = "auto" } = file;
  return {
    name: file.name,
    mode: file.mode,
    backend: file.backend ?? "af_xdp",
    xdpMode: file.xdp_mode ?? "auto",
    queues: queues === "auto" ? null : queues,
    zeroCopy: zeroCopy === "auto" ? "auto" : zeroCopy ? "on" : "off",
    cpus: file.cpus,
    decapsulate: file.decapsulate,
    samplingRate: file.sampling_rate ?? 1,
    isExternal: file.external,
    externalMacs: file.external_macs,
  };
}

function buildTunnel(file: CaptureFile["tunnels"][number]): CaptureTunnel {
  return {
    address: address(file.address),
    from: file.from.map(prefix),
    decapsulate: file.decapsulate,
    samplingRate: file.sampling_rate,
    receiveBufferBytes: file.receive_buffer_mb * 2 ** 20,
    cpus: file.cpus,
  };
}

function buildBgp(file: BgpFile, mitigations: readonly GroupMitigation[]): BgpConfig {
  const policies = new Map(file.policies.map((policy) => [policy.name, buildPolicy(policy)]));
  return {
    speaker: file.speaker,
    grpc: file.grpc ?? null,
    instance: file.instance ?? null,
    localAsn: file.local_asn,
    routerId: address(file.router_id),
    listen: file.listen === undefined ? null : buildListen(file.listen),
    nextHop: address(file.next_hop),
    nextHop6: address(file.next_hop6),
    communities: file.communities.map((text) => valid(parseCommunity, text)),
    localPref: file.local_pref,
    policies: [...policies.values()],
    communitiesAt: communitiesAtOf(mitigations),
    neighbors: file.neighbors.map((neighbor) => ({
      address: address(neighbor.address),
      remoteAsn: neighbor.remote_asn,
      port: neighbor.port,
      passwordEnv: neighbor.password_env ?? null,
      multihopTtl: neighbor.multihop_ttl,
      ...(neighbor.policy !== undefined && {
        policy: valid((name) => policies.get(name) ?? null, neighbor.policy),
      }),
      ...(neighbor.password_file !== undefined && { passwordFile: neighbor.password_file }),
      ...(neighbor.source_address !== undefined && { sourceAddress: address(neighbor.source_address) }),
      ...(neighbor.local_asn !== undefined && { localAsn: neighbor.local_asn }),
      ...(neighbor.hold_seconds !== undefined && { holdSeconds: neighbor.hold_seconds }),
      ...(neighbor.keepalive_seconds !== undefined && { keepaliveSeconds: neighbor.keepalive_seconds }),
      ...(neighbor.gtsm_hops !== undefined && { gtsmHops: neighbor.gtsm_hops }),
      ...(neighbor.long_lived_seconds !== undefined && { longLivedSeconds: neighbor.long_lived_seconds }),
      ...(neighbor.dry_run && { dryRun: true as const }),
      ...(neighbor.name !== undefined && { name: neighbor.name }),
      ...(neighbor.description !== undefined && { description: neighbor.description }),
    })),
  };
}

function buildListen(texts: string | readonly string[]): ListenAddresses {
  const parsed = [texts].flat().map((text) => valid(parseListen, text));
  return { addresses: parsed.map(({ host }) => host), port: parsed[0]?.port ?? 0 };
}

function address(text: string): IpAddress {
  return valid(parseAddress, text);
}

function prefix(text: string): Prefix {
  return Object.freeze(valid(parsePrefix, text));
}

function valid<T>(parse: (text: string) => T | null, text: string): T {
  const parsed = parse(text);
  if (parsed === null) throw new Error(`bug: ${JSON.stringify(text)} was taken for valid`);
  return parsed;
}

/** A frozen value was frozen deeply by this function. */
export function deepFreeze<T extends object>(value: T): T {
  if (Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
