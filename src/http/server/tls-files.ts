/** The certificate and the key with which the listener serves TLS. Read again while the service runs. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf } from "../../system/error-message.ts";

export interface TlsFiles {
  /** PEM: the listener's certificate, then those that lead to its authority. */
  readonly certFile: string;
  /** PEM, without a passphrase. */
  readonly keyFile: string;
}

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** A file cannot be used; the message names it and the remedy. */
export class TlsFileError extends Error {
  override readonly name = "TlsFileError";

  constructor(
    readonly key: "cert_file" | "key_file",
    message: string,
  ) {
    super(message);
  }
}

/** Throws TlsFileError, also when the key is that of another certificate. */
export function readTlsPair({ certFile, keyFile }: TlsFiles): TlsPair {
  const cert = read("cert_file", certFile);
  const key = read("key_file", keyFile);
  const parsed = parse("cert_file", certFile, () => firstOfChain(cert));
  const secret = parse("key_file", keyFile, () => createPrivateKey(key));
  if (parsed.checkPrivateKey(secret)) return { cert, key };
  throw new TlsFileError("key_file", `${keyFile} is not the key of the certificate in ${certFile}`);
}

/** Throws if one is broken: X509Certificate reads the first alone, and the listener refuses all of them. */
function firstOfChain(text: string): X509Certificate {
  const parts = text.split(/^(?=-----BEGIN )/m).filter((part) => part.startsWith("-----BEGIN CERTIFICATE-----"));
  const [first = new X509Certificate(text)] = parts.map((part) => new X509Certificate(part));
  return first;
}

function read(key: TlsFileError["key"], path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new TlsFileError(key, `${path} cannot be read: ${messageOf(cause)}`);
  }
}

function parse<T>(key: TlsFileError["key"], path: string, parsed: () => T): T {
  try {
    return parsed();
  } catch {
    const wanted = key === "cert_file" ? "a certificate in PEM" : "a private key in PEM without a passphrase";
    throw new TlsFileError(key, `${path} must be ${wanted}`);
  }
}
