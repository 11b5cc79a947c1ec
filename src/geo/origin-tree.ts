/**
 * Walks the search tree of a file in MaxMind's format (MaxMind DB 2.0, "Binary Search Tree Section"): which prefixes
 * lead to which data. Knows neither the data nor where the file is from.
 */
import { ADDRESS_BYTES, MAPPED_BITS } from "../net/address.ts";

interface OriginTree {
  readonly bytes: Uint8Array;
  readonly nodeCount: number;
  /** Bits of a record, two of which are a node: 24, 28 or 32. */
  readonly recordSize: number;
  readonly ipVersion: number;
}

/**
 * One call for each prefix that has data, in the order of addresses: its address in the 128-bit form (IPv4 mapped),
 * its length in that form, and what its data is known by. The array is valid until the call returns.
 */
type SeePrefix = (address: Uint8Array, length: number, data: number) => void;

const BITS = 8 * ADDRESS_BYTES;

/** In a file for both families IPv4 is below ::/96; other prefixes that lead there are aliases, and are left out. */
export function walkOriginTree(tree: OriginTree, see: SeePrefix): void {
  const { ipVersion, nodeCount } = tree;
  const address = new Uint8Array(ADDRESS_BYTES);
  const ipv4Node = ipVersion === 4 ? -1 : ipv4Start(tree);
  let visited = 0;
  const visit = (record: number, depth: number) => {
    if (record === nodeCount) return;
    if (record > nodeCount) return see(asSeen(address, depth), depth, record);
    if (record === ipv4Node && depth !== MAPPED_BITS) return;
    // Each node has one parent, but for the aliases: more than this is a loop.
    if (++visited > nodeCount || depth >= BITS) throw new Error("its search tree has a loop");
    const mask = 0x80 >> (depth & 7);
    visit(recordOf(tree, record, 0), depth + 1);
    address[depth >> 3] = (address[depth >> 3] ?? 0) | mask;
    visit(recordOf(tree, record, 1), depth + 1);
    address[depth >> 3] = (address[depth >> 3] ?? 0) & ~mask;
  };
  visit(0, ipVersion === 4 ? MAPPED_BITS : 0);
}

/** The node that ::/96 leads to; -1: none, IPv4 has no data of its own. */
function ipv4Start(tree: OriginTree): number {
  let node = 0;
  for (let depth = 0; depth < MAPPED_BITS; depth++) {
    if (node >= tree.nodeCount) return -1;
    node = recordOf(tree, node, 0);
  }
  return node < tree.nodeCount ? node : -1;
}

const mapped = new Uint8Array(ADDRESS_BYTES);

function asSeen(address: Uint8Array, depth: number): Uint8Array {
  if (depth < MAPPED_BITS || address.subarray(0, MAPPED_BITS / 8).some((byte) => byte !== 0)) return address;
  mapped.set(address);
  mapped[10] = 0xff;
  mapped[11] = 0xff;
  return mapped;
}

function recordOf({ bytes, recordSize }: OriginTree, node: number, side: 0 | 1): number {
  const at = (node * recordSize) / 4;
  const byte = (i: number) => bytes[at + i] ?? 0;
  switch (recordSize) {
    case 24:
      return byte(3 * side) * 0x1_0000 + byte(3 * side + 1) * 0x100 + byte(3 * side + 2);
    case 28: {
      const high = side === 0 ? byte(3) >> 4 : byte(3) & 0xf;
      return high * 0x100_0000 + byte(4 * side) * 0x1_0000 + byte(4 * side + 1) * 0x100 + byte(4 * side + 2);
    }
    default:
      return (
        byte(4 * side) * 0x100_0000 + byte(4 * side + 1) * 0x1_0000 + byte(4 * side + 2) * 0x100 + byte(4 * side + 3)
      );
  }
}
