/** Conditions on columns that hold an address, a prefix or `source->victim`, as every server that we support knows them. */
import { ADDRESS_BYTES, addressToBytes } from "../../net/address.ts";
import { addressBits, type Prefix } from "../../net/prefix.ts";
import type { Target } from "../../net/target.ts";
import { literal } from "./literal.ts";

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = `'^${OCTET}[.]${OCTET}[.]${OCTET}[.]${OCTET}$'`;
const IPV6 = "'^[0-9a-f]*:[0-9a-f.:]*:[0-9a-f.:]*$'";

/** @param column the name of a column of addresses and pairs. */
export function targetCondition(column: string, target: Target): string {
  if (typeof target !== "string") return `arrayExists(x -> ${inPrefix(target)}, splitByString('->', ${column}))`;
  // An address contains no wildcard.
  const [isIt, isSource, isVictim] = [target, `${target}->%`, `%->${target}`].map(literal);
  return `(${column} = ${isIt} OR ${column} LIKE ${isSource} OR ${column} LIKE ${isVictim})`;
}

/** Tests the text `x`. Other texts must not reach the functions, which newer servers let fail. */
function inPrefix(prefix: Prefix): string {
  const [first, last] = rangeOf(prefix);
  if (prefix.family === 4) {
    const number = `IPv4StringToNum(if(match(x, ${IPV4}), x, '0.0.0.0'))`;
    return `(match(x, ${IPV4}) AND ${number} >= ${Number(`0x${first}`)} AND ${number} <= ${Number(`0x${last}`)})`;
  }
  const digits = `hex(IPv6StringToNum(if(match(x, ${IPV6}), x, '::')))`;
  return `(match(x, ${IPV6}) AND ${digits} >= ${literal(first)} AND ${digits} <= ${literal(last)})`;
}

/** The first and the last address, as hexadecimal digits. */
function rangeOf({ address, family, length }: Prefix): readonly [first: string, last: string] {
  const bytes = addressToBytes(address).slice(ADDRESS_BYTES - addressBits(family) / 8);
  const last = bytes.map((byte, i) => byte | (0xff >> Math.min(8, Math.max(0, length - i * 8))));
  return [Buffer.from(bytes).toString("hex").toUpperCase(), Buffer.from(last).toString("hex").toUpperCase()];
}
