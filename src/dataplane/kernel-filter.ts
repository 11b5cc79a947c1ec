/**
 * The filter in the kernel: source blocks and dynamic rules that hold and lapse without this process. Says it in the
 * domain's types; the tables, pins and programs are the addon's.
 *
 * Open, fill, attach: what was pinned before goes on until attach().
 */
import type { Rule } from "../mitigation/rules/rule.ts";
import { ADDRESS_BYTES, addressFromBytes, addressToBytes, type IpAddress } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import { loadAddon } from "./addon.ts";
import type { Filter, FilterOptions, FilterStatus, FilterVerdicts, PinnedFilter } from "./native.d.ts";
import { PAIR_BYTES, PAIR_COLUMNS, RULE_COLUMNS } from "./native-constants.ts";
import { RULE_BYTES, writeRule } from "./rule-record.ts";

export type { FilterOptions, FilterStatus, FilterVerdicts, PinnedFilter };

/** Drops what `source` sends to `victim`; both of one family. */
export interface FilterPair {
  readonly source: IpAddress;
  readonly victim: IpAddress;
}

/** `expiresAtMs` is wall time here and below; it is put onto the boot-time clock once, when it is given. */
export interface FilterPairPut extends FilterPair {
  readonly expiresAtMs: number;
}

/** `packets` and `bytes` (of frames) were dropped. */
export interface FilterPairRow extends FilterPairPut {
  readonly packets: number;
  readonly bytes: number;
}

export interface FilterRulePut {
  /** At most 63 bytes, different for each. */
  readonly id: string;
  readonly rule: Rule;
  readonly expiresAtMs: number;
}

/** Since the rule is there as it is: a changed one begins anew. */
export interface FilterRuleRow {
  readonly id: string;
  readonly expiresAtMs: number;
  readonly packets: number;
  readonly bytes: number;
  readonly droppedPackets: number;
  readonly droppedBytes: number;
}

/**
 * All of a call is done or, with an Error that names the remedy, nothing. Where several rules match a packet, the one
 * with the longest destination decides, of those the first in the order given; rules for any destination come last.
 * Allowlisted sources, then whitelisted destinations pass whatever blocks and rules say.
 */
export interface KernelFilter {
  /** For `engine.openSource()`, so that an inline source on the same interface counts and filters in one program. */
  readonly native: Filter;
  attach(): void;
  /** A pair that is there gets the new expiry. */
  putPairs(pairs: readonly FilterPairPut[]): void;
  removePairs(pairs: readonly FilterPair[]): void;
  /** Those that have not lapsed. */
  readPairs(): FilterPairRow[];
  /** All rules wanted from now on; new ones are there before old ones go. */
  setRules(rules: readonly FilterRulePut[]): void;
  readRules(): FilterRuleRow[];
  setAllowlist(prefixes: readonly Prefix[]): void;
  setWhitelist(prefixes: readonly Prefix[]): void;
  status(): FilterStatus;
  /** Twice is fine. Inline sources that filter must be closed before. */
  close(end: "keep" | "detach"): void;
}

/** Pairs read in one crossing. */
const PAIR_CHUNK = 16_384;

/** Throws an Error that names the remedy: no permission, no BPF file system, or another process on the same pins. */
export function openKernelFilter(options: FilterOptions): KernelFilter {
  return new AddonFilter(loadAddon().openFilter(options));
}

/** What is in the kernel, whether or not a service runs; changes nothing. Throws an Error when it may not look. */
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

  putPairs(pairs: readonly FilterPairPut[]): void {
    this.native.putPairs(
      pairBytes(pairs),
      Float64Array.from(pairs, ({ expiresAtMs }) => expiresAtMs),
    );
  }

  removePairs(pairs: readonly FilterPair[]): void {
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

  setRules(rules: readonly FilterRulePut[]): void {
    const bytes = new Uint8Array(rules.length * RULE_BYTES);
    const view = new DataView(bytes.buffer);
    for (const [i, { rule, expiresAtMs }] of rules.entries()) writeRule(view, i * RULE_BYTES, rule, expiresAtMs);
    this.native.setRules(
      rules.map(({ id }) => id),
      bytes,
    );
  }

  readRules(): FilterRuleRow[] {
    const { ids, rows } = this.native.readRules();
    return ids.map((id, i) => {
      const [expiresAtMs = 0, packets = 0, bytes = 0, droppedPackets = 0, droppedBytes = 0] = rows.subarray(
        i * RULE_COLUMNS,
        (i + 1) * RULE_COLUMNS,
      );
      return { id, expiresAtMs, packets, bytes, droppedPackets, droppedBytes };
    });
  }

  setAllowlist(prefixes: readonly Prefix[]): void {
    this.native.setAllowlist(prefixBytes(prefixes), Uint8Array.from(prefixes, mappedLength));
  }

  setWhitelist(prefixes: readonly Prefix[]): void {
    this.native.setWhitelist(prefixBytes(prefixes), Uint8Array.from(prefixes, mappedLength));
  }

  status(): FilterStatus {
    return this.native.status();
  }

  close(end: "keep" | "detach"): void {
    this.native.close(end);
  }
}

function pairBytes(pairs: readonly FilterPair[]): Uint8Array {
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

function prefixBytes(prefixes: readonly Prefix[]): Uint8Array {
  const bytes = new Uint8Array(prefixes.length * ADDRESS_BYTES);
  for (const [i, { address }] of prefixes.entries()) bytes.set(addressToBytes(address), i * ADDRESS_BYTES);
  return bytes;
}
