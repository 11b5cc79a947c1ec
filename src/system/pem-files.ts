/** Certificates and private keys of PEM files. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf } from "./error-message.ts";

/** A file cannot be used; the message names it and the remedy. */
export class PemFileError extends Error {
  override readonly name = "PemFileError";

  /** @param key of the configuration, which names the file. */
  constructor(
    readonly key: string,
    message: string,
  ) {
    super(message);
  }
}

/** A file, and the key of the configuration that names it. */
interface PemFile {
  readonly key: string;
  readonly path: string;
}

/** The texts of a certificate, with those that lead to its authority, and of its key. Throws PemFileError. */
export function readKeyPair(certificate: PemFile, key: PemFile) {
  const { text: cert, parsed } = readCertificate(certificate);
  const secret = read(key);
  const privateKey = parse(key, "a private key in PEM without a passphrase", () => createPrivateKey(secret));
  if (parsed.checkPrivateKey(privateKey)) return { cert, key: secret, parsed };
  throw new PemFileError(key.key, `${key.path} is not the key of the certificate in ${certificate.path}`);
}

/** The text, and the first certificate in it. Throws PemFileError. */
export function readCertificate(file: PemFile): { readonly text: string; readonly parsed: X509Certificate } {
  const text = read(file);
  return { text, parsed: parse(file, "a certificate in PEM", () => firstOfChain(text)) };
}

/** Throws if one is broken: X509Certificate reads the first alone, and listeners refuse all of them. */
function firstOfChain(text: string): X509Certificate {
  const parts = text.split(/^(?=-----BEGIN )/m).filter((part) => part.startsWith("-----BEGIN CERTIFICATE-----"));
  const [first = new X509Certificate(text)] = parts.map((part) => new X509Certificate(part));
  return first;
}

function read({ key, path }: PemFile): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new PemFileError(key, `${path} cannot be read: ${messageOf(cause)}`);
  }
}

function parse<T>({ key, path }: PemFile, wanted: string, parsed: () => T): T {
  try {
    return parsed();
  } catch {
    throw new PemFileError(key, `${path} must be ${wanted}`);
  }
}
