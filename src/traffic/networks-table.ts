/**
 * The configured prefixes as the packet counter takes them: every prefix names its network (index in
 * `config.networks`) and its hostgroup (index in `config.hostgroups`), so that one longest match gives both.
 */
import type { Config } from "../config/config.ts";
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import { PrefixSet } from "../net/prefix-set.ts";

/** Structurally the addon's NetworksTable, which this folder must not know. */
export interface NetworksTable {
  /** 16 bytes a prefix, IPv4 in its mapped form; lengths are of that form. */
  readonly addresses: Uint8Array;
  readonly lengths: Uint8Array;
  readonly networks: Uint32Array;
  readonly groups: Uint32Array;
  readonly networkCount: number;
  readonly groupCount: number;
}

/** The implicit group `global`, which takes what no hostgroup names. */
const GLOBAL_GROUP = 0;

export function networksTable(config: Pick<Config, "networks" | "hostgroups">): NetworksTable {
  // By text: a hostgroup may take a network as it is, and that prefix must be in the table once.
  const rows = new Map<string, { prefix: Prefix; network: number; group: number }>();
  config.networks.forEach((prefix, network) => {
    rows.set(prefix.text, { prefix, network, group: GLOBAL_GROUP });
  });
  const networks = new PrefixSet(config.networks);
  const numbers = new Map(config.networks.map((prefix, network) => [prefix.text, network]));
  config.hostgroups.forEach((hostgroup, group) => {
    for (const prefix of hostgroup.networks) {
      const network = numbers.get(networks.match(prefix.address)?.text ?? "");
      if (network === undefined) throw new Error(`hostgroup ${hostgroup.name}: ${prefix.text} lies in no network`);
      rows.set(prefix.text, { prefix, network, group });
    }
  });
  return tableOf([...rows.values()], config);
}

function tableOf(
  rows: readonly { prefix: Prefix; network: number; group: number }[],
  config: Pick<Config, "networks" | "hostgroups">,
): NetworksTable {
  const addresses = new Uint8Array(rows.length * ADDRESS_BYTES);
  rows.forEach(({ prefix }, row) => {
    addresses.set(addressToBytes(prefix.address), row * ADDRESS_BYTES);
  });
  return {
    addresses,
    lengths: Uint8Array.from(rows, ({ prefix }) => mappedLength(prefix)),
    networks: Uint32Array.from(rows, ({ network }) => network),
    groups: Uint32Array.from(rows, ({ group }) => group),
    networkCount: config.networks.length,
    groupCount: config.hostgroups.length,
  };
}
