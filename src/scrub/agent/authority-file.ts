/**
 * The certificate authority of the service, from the file that the configuration names: as it is now, or else as it was
 * when it was last good, which `state_dir` keeps. Without any the service is not reached: no other authority takes its place.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../../system/error-message.ts";
import type { KeptFiles } from "../../system/kept-file.ts";

export const AUTHORITY_BYTES_MAX = 1024 * 1024;
const NAME = "authority";

interface AuthorityFileOptions {
  readonly path: string;
  readonly kept: Pick<KeptFiles, "read" | "keep">;
  /** At each reading. null: the file is good. `hasLast`: what was last good is used. */
  readonly onRead: (error: string | null, hasLast: boolean) => void;
  /** It cannot be kept on disk. */
  readonly onNotKept: (cause: unknown) => void;
}

export class AuthorityFile {
  readonly #options: AuthorityFileOptions;
  #last: string | null = null;

  constructor(options: AuthorityFileOptions) {
    this.#options = options;
  }

  /** PEM. Throws an Error when there is none. */
  read(): string {
    const { path, kept, onRead, onNotKept } = this.#options;
    try {
      const text = readPem(path);
      if (text !== this.#last) kept.keep(NAME, path, Buffer.from(text)).catch(onNotKept);
      this.#last = text;
      onRead(null, true);
      return text;
    } catch (cause) {
      const error = `${path}: ${messageOf(cause)}`;
      this.#last ??= kept.read(NAME, path)?.toString("utf8") ?? null;
      onRead(error, this.#last !== null);
      if (this.#last === null) throw new Error(`no certificate authority: ${error}`);
      return this.#last;
    }
  }
}

function readPem(path: string): string {
  const stats = statSync(path);
  // Reading a pipe would block.
  if (!stats.isFile()) throw new Error("is not a file");
  if (stats.size > AUTHORITY_BYTES_MAX) throw new Error(`is larger than ${AUTHORITY_BYTES_MAX} bytes`);
  const text = readFileSync(path, "utf8");
  const parts = text.split(/^(?=-----BEGIN )/m).filter((part) => part.startsWith("-----BEGIN CERTIFICATE-----"));
  if (parts.length === 0) throw new Error("has no certificate in PEM");
  for (const part of parts) if (!isCertificate(part)) throw new Error("has a certificate that is damaged");
  return text;
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
