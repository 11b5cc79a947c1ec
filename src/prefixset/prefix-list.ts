/**
 * Reads a plain list of prefixes: an address or a prefix a line, with comments after `#` or `;`, as block lists have
 * them. Pure.
 */
import { parseAddress } from "../net/address.ts";
import { hostPrefix, parsePrefixLoosely } from "../net/prefix.ts";
import { type PrefixColumns, PrefixColumnsWriter } from "../net/prefix-columns.ts";

/** The list is unusable; the message has the line. */
export class PrefixListError extends Error {
  override readonly name = "PrefixListError";
}

const LINE_FEED = 0x0a;
const SHOWN_CHARACTERS_MAX = 40;

/**
 * Clears host bits, as the kernel's own tools do with such lists. One line that is neither a prefix nor a comment makes
 * the whole list unusable: it may be the page of an error. Throws PrefixListError.
 *
 * @param most prefixes.
 */
export function parsePrefixList(bytes: Uint8Array, most: number): PrefixColumns {
  const writer = new PrefixColumnsWriter();
  let line = 1;
  for (let from = 0; from < bytes.length; line++) {
    const feed = bytes.indexOf(LINE_FEED, from);
    const to = feed < 0 ? bytes.length : feed;
    if (!takeIpv4(bytes, from, to, writer)) takeAny(bytes.subarray(from, to), line, writer);
    if (writer.count > most) throw new PrefixListError(`line ${line}: more than ${most} prefixes`);
    from = to + 1;
  }
  return writer.columns();
}

/** The usual line, without making a text of it. False: it has another form, and nothing was added. */
function takeIpv4(bytes: Uint8Array, from: number, to: number, writer: PrefixColumnsWriter): boolean {
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
  if (!isEnd(bytes, at, to)) return false;
  const hosts = 2 ** (32 - length);
  writer.addIpv4(address - (address % hosts), length);
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

function takeAny(bytes: Uint8Array, line: number, writer: PrefixColumnsWriter): void {
  // A byte order mark is removed by the decoder.
  const text = (/^[^#;]*/.exec(decoder.decode(bytes))?.[0] ?? "").trim();
  if (text === "") return;
  const address = parseAddress(text);
  const prefix = address === null ? parsePrefixLoosely(text) : hostPrefix(address);
  if (prefix === null) throw new PrefixListError(`line ${line}: ${shown(text)} is neither an address nor a prefix`);
  writer.add(prefix);
}

function shown(text: string): string {
  const short = text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
  return JSON.stringify(short);
}
