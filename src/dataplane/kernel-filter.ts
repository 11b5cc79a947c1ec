/**
 * The filter in the kernel: source blocks and dynamic rules that stay and expire without this process. Uses the
 * domain's types; the addon owns tables, pins and programs.
 *
 * Open, fill, attach: a filter that was pinned before stays in force until attach().
 */

import type { KernelRule, SetBitOf } from "../mitigation/rules/kernel-rule.ts";
import { isOfKernelOnly } from "../mitigation/rules/match.ts";
import { OPERATOR_ENTRY, PAIR_BYTES, PAIR_COLUMNS, RULE_COLUMNS } from "../native/constants.ts";
import { ADDRESS_BYTES, addressFromBytes, addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import type { KernelPair } from "../sourceblock/pair-installer.ts";
import type { Pair } from "../sourceblock/source-block.ts";
import { loadAddon } from "./addon.ts";
import { DETAILS_BYTES, LITTLE_ENDIAN, writeDetails } from "./details-record.ts";
import { type ForwardPlan, nativeTunnel, prefixBytes } from "./forward-tunnel.ts";
import type {
  Filter,
  FilterStatus,
  FilterVerdicts,
  NamedPrefixes,
  NamedSets,
  FilterOptions as NativeOptions,
  PinnedFilter,
} from "./native.d.ts";
import { RULE_BYTES, writePrefix, writeRule } from "./rule-record.ts";

export type { FilterStatus, FilterVerdicts, NamedPrefixes, NamedSets, PinnedFilter };

export interface FilterOptions extends Omit<NativeOptions, "forward"> {
  /** The plan for passed packets; null or absent: the kernel alone forwards. */
  readonly forward?: ForwardPlan | null;
}

/** The number of dropped packets and bytes (of frames). */
export interface FilterPairRow extends KernelPair {
  readonly packets: number;
  readonly bytes: number;
}

/** Counts since the rule was set; a changed rule starts at zero. */
export interface FilterRuleRow {
  readonly id: string;
  readonly expiresAtMs: number;
  readonly packets: number;
  readonly bytes: number;
  readonly droppedPackets: number;
  readonly droppedBytes: number;
  /** Sent back to their sources. */
  readonly answeredPackets: number;
  readonly answeredBytes: number;
  /** How often a source proved its address. */
  readonly validated: number;
}

/** The rules that the operator set, which are tried before all others. */
export interface OperatorRulesPut {
  readonly rules: readonly KernelRule[];
  /**
   * The rules for a destination, in the order in which they are tried. Of several destinations that a packet has, only
   * the longest counts: it must have all rules that are for it.
   */
  readonly destinations: readonly { readonly prefix: Prefix; readonly rules: readonly KernelRule[] }[];
}

const NO_OPERATOR_RULES: OperatorRulesPut = { rules: [], destinations: [] };

/**
 * Each call is atomic: it throws an Error that names the remedy, and changes nothing. If several rules match a packet,
 * the one with the longest destination decides, of those the first in the given order; rules for any destination come
 * last. Packets from allowlisted sources, then those to whitelisted destinations, pass regardless of blocks and rules.
 */
export interface KernelFilter {
  /** For `engine.openSource()`, so that an inline source on the same interface counts and filters in one program. */
  readonly native: Filter;
  attach(): void;
  /** An existing pair gets the new expiry. */
  putPairs(pairs: readonly KernelPair[]): void;
  removePairs(pairs: readonly Pair[]): void;
  /** The pairs that have not expired. */
  readPairs(): FilterPairRow[];
  /** Those of these pairs that are in the kernel. */
  readPairsOf(pairs: readonly Pair[]): FilterPairRow[];
  /** Replaces all rules; new ones are added before old ones are removed. Operators' rules without a destination in
   * `destinations` are never tried. `bitOf` is of the named sets that rules ask for. */
  setRules(rules: readonly KernelRule[], operators?: OperatorRulesPut, bitOf?: SetBitOf): void;
  readRules(): FilterRuleRow[];
  /** See native.d.ts. */
  watchDestinations(addresses: Uint8Array): void;
  readOutcomes(counts: Float64Array): void;
  setAllowlist(prefixes: readonly Prefix[]): void;
  setWhitelist(prefixes: readonly Prefix[]): void;
  /**
   * Puts all named sets in force at once, in place of those before: no packet is judged by half of them. Sets that an
   * earlier process left are in force until then. Blocks some milliseconds, until no packet is judged by the old ones.
   */
  setNamedSets(sets: NamedSets): void;
  /** The same off the event loop: the kernel waits until no program reads the sets before. Rejects with an Error. */
  exchangeNamedSets(sets: NamedSets): Promise<void>;
  /** Destinations that are forwarded beside those of the tunnels; null: all. */
  setForwardNetworks(prefixes: readonly Prefix[] | null): void;
  status(): FilterStatus;
  /** May be called twice. Inline sources that filter must be closed before. */
  close(end: "keep" | "detach"): void;
}

/** Pairs read in one crossing. */
const PAIR_CHUNK = 16_384;

/** Throws an Error that names the remedy: no permission, no BPF file system, or another process on the same pins. */
export function openKernelFilter(options: FilterOptions): KernelFilter {
  const { forward = null, ...others } = options;
  const native = forward && { tunnels: forward.tunnels.map(nativeTunnel) };
  return new AddonFilter(loadAddon().openFilter({ ...others, forward: native }));
}

/**
 * Makes named sets of prefixes for setNamedSets(), off the event loop. Rejects with an Error that names the remedy: too
 * many prefixes, too much memory, no permission.
 */
export function buildNamedSets(sets: readonly NamedPrefixes[]): Promise<NamedSets> {
  return loadAddon().buildNamedSets(sets);
}

/** The state in the kernel, whether or not a service runs; changes nothing. Throws an Error without permission. */
export function readPinnedStatus(pinPath: string): PinnedFilter {
  return loadAddon().readPinnedFilter(pinPath);
}

class AddonFilter implements KernelFilter {
  readonly native: Filter;

  constructor(native: Filter) {
    this.native = native;
  }

  attach(): void {
    this.native.attach();
  }

  putPairs(pairs: readonly KernelPair[]): void {
    this.native.putPairs(
      pairBytes(pairs),
      Float64Array.from(pairs, ({ expiresAtMs }) => expiresAtMs),
    );
  }

  removePairs(pairs: readonly Pair[]): void {
    this.native.removePairs(pairBytes(pairs));
  }

  readPairs(): FilterPairRow[] {
    const addresses = new Uint8Array(PAIR_CHUNK * PAIR_BYTES);
    const values = new Float64Array(PAIR_CHUNK * PAIR_COLUMNS);
    const pairs: FilterPairRow[] = [];
    for (let cursor = 0; cursor >= 0; ) {
      const { next, count } = this.native.readPairs(cursor, addresses, values);
      for (let row = 0; row < count; row++) pairs.push(pairRow(addresses, values, row));
      cursor = next;
    }
    return pairs;
  }

  readPairsOf(pairs: readonly Pair[]): FilterPairRow[] {
    const addresses = pairBytes(pairs);
    const values = new Float64Array(pairs.length * PAIR_COLUMNS);
    this.native.readPairsOf(addresses, values);
    return pairs.map((_, row) => pairRow(addresses, values, row)).filter(({ packets }) => !Number.isNaN(packets));
  }

  setRules(
    rules: readonly KernelRule[],
    operators: OperatorRulesPut = NO_OPERATOR_RULES,
    bitOf: SetBitOf = () => null,
  ): void {
    const all = [...operators.rules, ...rules];
    const detailed = all.map(({ rule }) => rule).filter(isOfKernelOnly);
    const details = new Uint8Array(detailed.length * DETAILS_BYTES);
    const detailsView = new DataView(details.buffer);
    for (const [i, one] of detailed.entries()) writeDetails(detailsView, i * DETAILS_BYTES, one, bitOf);
    const bytes = new Uint8Array(all.length * RULE_BYTES);
    const view = new DataView(bytes.buffer);
    let before = 0;
    for (const [i, put] of all.entries()) {
      writeRule(view, i * RULE_BYTES, put, isOfKernelOnly(put.rule) ? ++before : 0);
    }
    this.native.setRules(
      all.map(({ id }) => id),
      bytes,
      details,
      operatorEntries(operators),
    );
  }

  readRules(): FilterRuleRow[] {
    const { ids, rows } = this.native.readRules();
    return ids.map((id, i) => {
      const row = rows.subarray(i * RULE_COLUMNS, (i + 1) * RULE_COLUMNS);
      const [expiresAtMs = 0, packets = 0, bytes = 0, droppedPackets = 0, droppedBytes = 0] = row;
      const [answeredPackets = 0, answeredBytes = 0, validated = 0] = row.subarray(5);
      const dropped = { droppedPackets, droppedBytes };
      return { id, expiresAtMs, packets, bytes, ...dropped, answeredPackets, answeredBytes, validated };
    });
  }

  watchDestinations(addresses: Uint8Array): void {
    this.native.watchDestinations(addresses);
  }

  readOutcomes(counts: Float64Array): void {
    this.native.readOutcomes(counts);
  }

  setAllowlist(prefixes: readonly Prefix[]): void {
    this.native.setAllowlist(prefixBytes(prefixes), Uint8Array.from(prefixes, mappedLength));
  }

  setWhitelist(prefixes: readonly Prefix[]): void {
    this.native.setWhitelist(prefixBytes(prefixes), Uint8Array.from(prefixes, mappedLength));
  }

  setNamedSets(sets: NamedSets): void {
    this.native.setNamedSets(sets);
  }

  async exchangeNamedSets(sets: NamedSets): Promise<void> {
    await this.native.exchangeNamedSets(sets);
  }

  setForwardNetworks(prefixes: readonly Prefix[] | null): void {
    if (prefixes === null) this.native.setForwardNetworks(null, null);
    else this.native.setForwardNetworks(prefixBytes(prefixes), Uint8Array.from(prefixes, mappedLength));
  }

  status(): FilterStatus {
    return this.native.status();
  }

  close(end: "keep" | "detach"): void {
    this.native.close(end);
  }
}

function operatorEntries({ rules, destinations }: OperatorRulesPut): Uint8Array {
  const numbers = new Map(rules.map((rule, i) => [rule, i]));
  const entries = destinations.flatMap(({ prefix, rules: own }) => own.map((rule) => ({ prefix, rule })));
  const bytes = new Uint8Array(entries.length * OPERATOR_ENTRY.bytes);
  const view = new DataView(bytes.buffer);
  for (const [i, { prefix, rule }] of entries.entries()) {
    const at = i * OPERATOR_ENTRY.bytes;
    const number = numbers.get(rule);
    if (number === undefined) throw new Error(`the rule ${rule.id} for ${prefix.text} is not among the rules`);
    view.setUint8(at + OPERATOR_ENTRY.destinationLength, writePrefix(view, at + OPERATOR_ENTRY.destination, prefix));
    view.setUint32(at + OPERATOR_ENTRY.rule, number, LITTLE_ENDIAN);
  }
  return bytes;
}

function pairBytes(pairs: readonly Pair[]): Uint8Array {
  const bytes = new Uint8Array(pairs.length * PAIR_BYTES);
  for (const [i, { source, victim }] of pairs.entries()) {
    bytes.set(addressToBytes(source), i * PAIR_BYTES);
    bytes.set(addressToBytes(victim), i * PAIR_BYTES + ADDRESS_BYTES);
  }
  return bytes;
}

function pairRow(addresses: Uint8Array, values: Float64Array, row: number): FilterPairRow {
  return {
    source: addressFromBytes(addresses, row * PAIR_BYTES),
    victim: addressFromBytes(addresses, row * PAIR_BYTES + ADDRESS_BYTES),
    expiresAtMs: values[row * PAIR_COLUMNS] ?? 0,
    packets: values[row * PAIR_COLUMNS + 1] ?? 0,
    bytes: values[row * PAIR_COLUMNS + 2] ?? 0,
  };
}
