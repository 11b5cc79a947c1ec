/**
 * Looks up autonomous systems and countries in the files that `samples` names, from MaxMind or of the same format.
 * Knows the fields of their records.
 */

import type { Origin, OriginOf } from "../detection/attack/sample-origins.ts";
import type { IpAddress } from "../net/address.ts";
import type { Finding } from "../schema/shape.ts";
import type { OriginFiles } from "./origin-config.ts";
import { OriginFile, OriginFileError } from "./origin-file.ts";

/** Maximum length of a name from the file, since every sample contains it. */
const NAME_CHARACTERS_MAX = 80;
const ASN_MAX = 0xffff_ffff;
/** The files by their configuration keys, with the expected type of each. */
const KINDS = {
  asnFile: {
    key: "asn_file",
    isKind: (kind: string) => /asn|isp|autonomous/i.test(kind),
    wanted: "of autonomous systems",
  },
  countryFile: {
    key: "country_file",
    isKind: (kind: string) => /country|city|enterprise/i.test(kind),
    wanted: "of countries or cities",
  },
} as const;

type Key = keyof typeof KINDS;
const KEYS = Object.keys(KINDS) as Key[];

/** null: no file is configured. Rejects with OriginFileError. */
export async function openOrigins(files: OriginFiles): Promise<OriginOf | null> {
  const open = async (key: Key) => {
    const path = files[key];
    return path === null ? null : ofKind(key, path, await OriginFile.open(path));
  };
  // One after the other, to save memory if one of them is broken.
  const asnFile = await open("asnFile");
  const countryFile = await open("countryFile");
  if (asnFile === null && countryFile === null) return null;
  return (address) => originOf(address, asnFile, countryFile);
}

interface OriginFault {
  /** `samples.asn_file`. */
  readonly key: string;
  readonly cause: OriginFileError;
}

/** The files that are open, each as it was when it was last good. */
export class Origins {
  readonly #files: OriginFiles;
  readonly #open = new Map<Key, OriginFile>();
  readonly #faults = new Map<Key, OriginFileError>();

  private constructor(files: OriginFiles) {
    this.#files = files;
  }

  /**
   * @param before of the configuration in force; null: at the start, where no file is in the way. Rejects with
   * OriginFileError if one that was not named before cannot be used.
   */
  static async open(files: OriginFiles, before: Origins | null): Promise<Origins> {
    const made = new Origins(files);
    // One after the other, to save memory if one of them is broken.
    for (const key of KEYS) {
      await made.#take(key);
      const fault = made.#faults.get(key);
      if (fault === undefined || before === null) continue;
      if (files[key] !== before.#files[key]) throw fault;
      const last = before.#open.get(key);
      if (last !== undefined) made.#open.set(key, last);
    }
    return made;
  }

  /** null: no file is configured. */
  get originOf(): OriginOf | null {
    if (KEYS.every((key) => this.#files[key] === null)) return null;
    return (address) => originOf(address, this.#open.get("asnFile") ?? null, this.#open.get("countryFile") ?? null);
  }

  get faults(): readonly OriginFault[] {
    return [...this.#faults].map(([key, cause]) => ({ key: `samples.${KINDS[key].key}`, cause }));
  }

  /** Opens the files again that could not be used. */
  async retry(): Promise<void> {
    for (const key of [...this.#faults.keys()]) await this.#take(key);
  }

  async #take(key: Key): Promise<void> {
    const path = this.#files[key];
    if (path === null) return;
    try {
      this.#open.set(key, ofKind(key, path, await OriginFile.open(path)));
      this.#faults.delete(key);
    } catch (cause) {
      if (!(cause instanceof OriginFileError)) throw cause;
      this.#faults.set(key, cause);
    }
  }
}

/** The faults of the files, for a check of the configuration. */
export function originFindings(files: OriginFiles): Finding[] {
  return KEYS.flatMap((key) => {
    const path = files[key];
    if (path === null) return [];
    try {
      ofKind(key, path, OriginFile.openSync(path));
      return [];
    } catch (cause) {
      if (!(cause instanceof OriginFileError)) throw cause;
      return [{ path: ["samples", KINDS[key].key], rule: cause.message }];
    }
  });
}

function ofKind(key: Key, path: string, file: OriginFile): OriginFile {
  const { isKind, wanted } = KINDS[key];
  if (isKind(file.kind)) return file;
  throw new OriginFileError(
    `${path} is of the kind ${JSON.stringify(file.kind.slice(0, NAME_CHARACTERS_MAX))}, not one ${wanted}: name one that is`,
  );
}

function originOf(address: IpAddress, asnFile: OriginFile | null, countryFile: OriginFile | null): Origin | null {
  const system = asnFile?.find(address);
  const asn = numberIn(field(system, "autonomous_system_number"));
  const asName = asn === null ? null : nameIn(field(system, "autonomous_system_organization"));
  const place = countryFile?.find(address);
  const country = codeIn(field(field(place, "country"), "iso_code"));
  return asn === null && country === null ? null : { asn, asName, country };
}

function field(record: unknown, key: string): unknown {
  return typeof record === "object" && record !== null && Object.hasOwn(record, key)
    ? (record as Record<string, unknown>)[key]
    : undefined;
}

function numberIn(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value <= ASN_MAX ? value : null;
}

function nameIn(value: unknown): string | null {
  if (typeof value !== "string") return null;
  // Text from a file must not contain terminal control characters.
  const name = value.replaceAll(/\p{Cc}/gu, " ").trim();
  return name === "" ? null : name.slice(0, NAME_CHARACTERS_MAX);
}

function codeIn(value: unknown): string | null {
  return typeof value === "string" && /^[A-Z]{2}$/.test(value) ? value : null;
}
