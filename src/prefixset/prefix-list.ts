/**
 * Reads a plain list of prefixes: an address or a prefix a line, with comments after `#` or `;`, as block lists have
 * them. Pure.
 */
import { parseAddress } from "../net/address.ts";
import { hostPrefix, parsePrefix, parsePrefixLoosely } from "../net/prefix.ts";
import { type PrefixColumns, PrefixColumnsWriter } from "../net/prefix-columns.ts";
import { type ShortestPrefix, widthFault } from "./prefix-width.ts";

/** The list is unusable; the message has the line. */
export class PrefixListError extends Error {
  override readonly name = "PrefixListError";
}

const LINE_FEED = 0x0a;
const SHOWN_CHARACTERS_MAX = 40;

interface ListBounds {
  /** Maximum number of prefixes. */
  readonly most: number;
  readonly shortest: ShortestPrefix;
}

/**
 * One line that is neither a prefix nor a comment makes the whole list unusable: it may be the page of an error. So does
 * a prefix with host bits or a too wide one, and a last line without its end: `192.0.2.128/25` that is cut to
 * `192.0.2.128/2` means a quarter of all addresses. Throws PrefixListError.
 */
export function parsePrefixList(bytes: Uint8Array, { most, shortest }: ListBounds): PrefixColumns {
  const writer = new PrefixColumnsWriter();
  let line = 1;
  for (let from = 0; from < bytes.length; line++) {
    const to = bytes.indexOf(LINE_FEED, from);
    if (to < 0) throw new PrefixListError(`line ${line}: has no line end, so that the file may be cut off`);
    if (!takeIpv4(bytes, { from, to, shortest: shortest.ipv4 }, writer)) {
      const fault = takeAny(bytes.subarray(from, to), shortest, writer);
      if (fault !== null) throw new PrefixListError(`line ${line}: ${fault}`);
    }
    if (writer.count > most) throw new PrefixListError(`line ${line}: more than ${most} prefixes`);
    from = to + 1;
  }
  return writer.columns();
}

interface Line {
  readonly from: number;
  readonly to: number;
  readonly shortest: number;
}

/** The usual line, without making a text of it. False: it has another form, and nothing was added. */
function takeIpv4(bytes: Uint8Array, { from, to, shortest }: Line, writer: PrefixColumnsWriter): boolean {
  let address = 0;
  let at = from;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && bytes[at++] !== 0x2e) return false;
    const start = at;
    let value = 0;
    for (; at < to && at - start < 3 && isDigit(bytes[at]); at++) value = 10 * value + ((bytes[at] ?? 0) - 0x30);
    if (at === start || value > 255 || (at - start > 1 && bytes[start] === 0x30)) return false;
    address = address * 256 + value;
  }
  let length = 32;
  if (bytes[at] === 0x2f && at < to) {
    const start = ++at;
    length = 0;
    for (; at < to && at - start < 2 && isDigit(bytes[at]); at++) length = 10 * length + ((bytes[at] ?? 0) - 0x30);
    if (at === start || length > 32 || (at - start > 1 && bytes[start] === 0x30)) return false;
  }
  // takeAny() says what is wrong with it.
  if (!isEnd(bytes, at, to) || length < shortest || address % 2 ** (32 - length) !== 0) return false;
  writer.addIpv4(address, length);
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Only white space and a comment follow. */
function isEnd(bytes: Uint8Array, at: number, to: number): boolean {
  for (let i = at; i < to; i++) {
    const byte = bytes[i];
    if (byte === 0x23 || byte === 0x3b) return true;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}

const decoder = new TextDecoder();

/** null: it is taken, or empty. Otherwise what is wrong with it. */
function takeAny(bytes: Uint8Array, shortest: ShortestPrefix, writer: PrefixColumnsWriter): string | null {
  // A byte order mark is removed by the decoder.
  const text = (/^[^#;]*/.exec(decoder.decode(bytes))?.[0] ?? "").trim();
  if (text === "") return null;
  const address = parseAddress(text);
  const prefix = address === null ? parsePrefix(text) : hostPrefix(address);
  if (prefix !== null) {
    const fault = widthFault(prefix, shortest);
    if (fault === null) writer.add(prefix);
    return fault === null ? null : `${prefix.text} ${fault}`;
  }
  const meant = parsePrefixLoosely(text);
  if (meant === null) return `${shown(text)} is neither an address nor a prefix`;
  return `${shown(text)} has host bits: correct it, or write ${meant.text} if that is meant`;
}

function shown(text: string): string {
  const short = text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
  return JSON.stringify(short);
}
