/** Which of some addresses a set contains: what a newer file would mean for the users of the last minute. Pure. */
import { ADDRESS_BYTES } from "../net/address.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";

/** Fewer users say nothing. */
const USERS_MIN = 20;

/** How many users a newer file takes into the set or out of it. */
export interface UsersMoved {
  readonly known: number;
  readonly into: number;
  readonly outOf: number;
}

/** @param users 16 bytes each, IPv4 in its mapped form. */
export function usersMoved(before: PrefixColumns, now: PrefixColumns, users: Uint8Array): UsersMoved {
  const sorted = sortedRows(users);
  const [was, is] = [containedIn(before, sorted), containedIn(now, sorted)];
  const count = (from: Uint8Array, to: Uint8Array) =>
    to.reduce((sum, flag, i) => sum + (flag === 1 && from[i] === 0 ? 1 : 0), 0);
  return { known: is.length, into: count(was, is), outOf: count(is, was) };
}

/** @param percentMax 100: any. null: it may be used. */
export function usersFault({ known, into, outOf }: UsersMoved, percentMax: number): string | null {
  if (known < USERS_MIN || percentMax >= 100) return null;
  const moved = into + outOf;
  if (moved * 100 <= percentMax * known) return null;
  const what = into >= outOf ? `takes in ${into}` : `no longer has ${outOf}`;
  return `${what} of the ${known} users that are known of the last minute, more than max_users_percent allows`;
}

/** 1 for each row that a prefix contains. @param rows sorted. */
function containedIn({ addresses, lengths }: PrefixColumns, rows: Uint8Array): Uint8Array {
  const flags = new Uint8Array(rows.length / ADDRESS_BYTES);
  for (let prefix = 0; prefix < lengths.length; prefix++) {
    const at = ADDRESS_BYTES * prefix;
    const length = lengths[prefix] ?? 0;
    for (let row = firstNotBefore(rows, addresses, at); row < flags.length; row++) {
      if (!hasBits(rows, ADDRESS_BYTES * row, { addresses, at, length })) break;
      flags[row] = 1;
    }
  }
  return flags;
}

function firstNotBefore(rows: Uint8Array, addresses: Uint8Array, at: number): number {
  let [from, to] = [0, rows.length / ADDRESS_BYTES];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compared(rows, ADDRESS_BYTES * middle, addresses, at) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function compared(a: Uint8Array, atA: number, b: Uint8Array, atB: number): number {
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    const difference = (a[atA + i] ?? 0) - (b[atB + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

interface PrefixRow {
  readonly addresses: Uint8Array;
  readonly at: number;
  readonly length: number;
}

function hasBits(rows: Uint8Array, from: number, { addresses, at, length }: PrefixRow): boolean {
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) if (rows[from + i] !== addresses[at + i]) return false;
  const mask = (0xff << (8 - (length & 7))) & 0xff;
  return mask === 0 || (((rows[from + whole] ?? 0) ^ (addresses[at + whole] ?? 0)) & mask) === 0;
}

function sortedRows(users: Uint8Array): Uint8Array {
  const order = Array.from({ length: users.length / ADDRESS_BYTES }, (_, i) => ADDRESS_BYTES * i);
  order.sort((a, b) => compared(users, a, users, b));
  const sorted = new Uint8Array(users.length);
  for (const [row, at] of order.entries()) sorted.set(users.subarray(at, at + ADDRESS_BYTES), ADDRESS_BYTES * row);
  return sorted;
}
