/** The certificate of this brain and of others: whom one is of, and the files that have the own one. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf } from "../../system/error-message.ts";
import type { ClusterConfig } from "../cluster-config.ts";

export interface LinkFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Wall clock, ms, after which the certificate is not valid any more. */
  readonly validUntilMs: number;
}

/** A file cannot be used; the message names it and the remedy. */
export class LinkFileError extends Error {
  override readonly name = "LinkFileError";

  constructor(
    readonly key: "certificate" | "key" | "authority",
    message: string,
  ) {
    super(message);
  }
}

type Names = Pick<ClusterConfig, "name" | "certificate" | "key" | "authority">;

/** Throws LinkFileError. */
export function readLinkFiles({ name, certificate, key, authority }: Names): LinkFiles {
  const [cert, secret, ca] = [read("certificate", certificate), read("key", key), read("authority", authority)];
  const parsed = parse("certificate", certificate, () => new X509Certificate(cert));
  const privateKey = parse("key", key, () => createPrivateKey(secret));
  parse("authority", authority, () => new X509Certificate(ca));
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new LinkFileError("key", `${key} is not the key of the certificate in ${certificate}`);
  }
  const names = namesOf({ subject: parsed.subject, subjectAltName: parsed.subjectAltName });
  if (!names.includes(name)) {
    const found = names.length === 0 ? "of no name" : `of ${names.join(", ")}`;
    throw new LinkFileError("certificate", `${certificate} is ${found}: it must be of ${name}, the name of this brain`);
  }
  return { cert, key: secret, ca, validUntilMs: parsed.validToDate.getTime() };
}

/**
 * The names of a certificate as OpenSSL prints them: the DNS names, or without any the common name (RFC 6125, 6.4.4).
 * @param subject a line for each part. @param subjectAltName separated by commas.
 */
export function namesOf(certificate: {
  readonly subject: string;
  readonly subjectAltName: string | undefined;
}): string[] {
  const alternatives = (certificate.subjectAltName ?? "").split(/,\s*/);
  const names = alternatives.flatMap((part) => (part.startsWith("DNS:") ? [part.slice("DNS:".length)] : []));
  if (names.length > 0) return names;
  return certificate.subject.split("\n").flatMap((line) => (line.startsWith("CN=") ? [line.slice("CN=".length)] : []));
}

function read(key: LinkFileError["key"], path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new LinkFileError(key, `${path} cannot be read: ${messageOf(cause)}`);
  }
}

function parse<T>(key: LinkFileError["key"], path: string, parsed: () => T): T {
  try {
    return parsed();
  } catch {
    const wanted = key === "key" ? "a private key in PEM without a passphrase" : "a certificate in PEM";
    throw new LinkFileError(key, `${path} must be ${wanted}`);
  }
}
