/**
 * A configuration on its way from the thread that read it to the event loop: its prefixes, of which there may be a hundred
 * thousand, as one text and its tables as arrays that move without a copy, so that nobody waits while they are taken over.
 */
import { canonicalPrefix, type Prefix } from "../net/prefix.ts";
import { type PackedPrefixes, PrefixTable } from "../net/prefix-table.ts";
import { NetworkLookup, type PackedLookup } from "../traffic/network-lookup.ts";
import { completeConfig, type PlainConfig } from "./build.ts";
import type { Config, Hostgroup } from "./config.ts";

export interface PackedConfig {
  readonly rest: Omit<PlainConfig, "networks" | "protectedWhitelist" | "hostgroups">;
  /** Their networks left out. */
  readonly hostgroups: readonly Hostgroup[];
  /** Each ended by a line break: those of networks, of the whitelist, and of each hostgroup. */
  readonly prefixes: string;
  /** How many each of these lists has. */
  readonly counts: readonly number[];
  readonly lookup: PackedLookup;
  readonly whitelist: PackedPrefixes;
}

/** Prefixes built before others have their turn: a millisecond's worth. */
const SLICE = 1000;

/** The tables leave `config` when the buffers are transferred: it is of no use then. */
export function packConfig(config: Config): { readonly packed: PackedConfig; readonly buffers: ArrayBuffer[] } {
  const { networks, protectedWhitelist, hostgroups, lookup, whitelist, ...rest } = config;
  const lists = [networks, protectedWhitelist, ...hostgroups.map((group) => group.networks)];
  const packed: PackedConfig = {
    rest,
    hostgroups: hostgroups.map((group) => ({ ...group, networks: [] })),
    prefixes: lists.map((list) => list.map(({ text }) => `${text}\n`).join("")).join(""),
    counts: lists.map(({ length }) => length),
    lookup: lookup.packed,
    whitelist: whitelist.packed,
  };
  const rows = lookup.packed;
  const arrays = [...arraysOf(rows.prefixes), ...arraysOf(whitelist.packed), rows.networks, rows.groups];
  return { packed, buffers: arrays.map(({ buffer }) => buffer) };
}

function arraysOf({ addresses, lengths, lengthsInUse, slots }: PackedPrefixes) {
  return [addresses, lengths, lengthsInUse, slots];
}

/** @param turn resolves when others had theirs. */
export async function unpackConfig(packed: PackedConfig, turn: () => Promise<void>): Promise<Config> {
  const [networks = [], protectedWhitelist = [], ...groups] = await prefixLists(packed, turn);
  const hostgroups = packed.hostgroups.map((group, i) => ({ ...group, networks: groups[i] ?? [] }));
  return completeConfig(
    { ...packed.rest, networks, protectedWhitelist, hostgroups },
    { lookup: new NetworkLookup(packed.lookup), whitelist: new PrefixTable(packed.whitelist) },
  );
}

async function prefixLists({ prefixes, counts }: PackedConfig, turn: () => Promise<void>): Promise<Prefix[][]> {
  const lists: Prefix[][] = [];
  let built = 0;
  for (let at = 0; lists.length < counts.length; ) {
    const list: Prefix[] = [];
    for (let left = counts[lists.length] as number; left > 0; left--) {
      const end = prefixes.indexOf("\n", at);
      list.push(Object.freeze(canonicalPrefix(prefixes.slice(at, end))));
      at = end + 1;
      if (++built % SLICE === 0) await turn();
    }
    lists.push(list);
  }
  return lists;
}
