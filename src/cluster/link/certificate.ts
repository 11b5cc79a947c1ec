/** The certificate of this brain and of others: whom one is of, and the files that have the own one. */
import { PemFileError, readCertificate, readKeyPair } from "../../system/pem-files.ts";
import type { ClusterConfig } from "../cluster-config.ts";

export interface LinkFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Wall clock, ms, after which the certificate is not valid any more. */
  readonly validUntilMs: number;
}

type Names = Pick<ClusterConfig, "name" | "certificate" | "key" | "authority">;

/** Throws PemFileError. */
export function readLinkFiles({ name, certificate, key, authority }: Names): LinkFiles {
  const pair = readKeyPair({ key: "certificate", path: certificate }, { key: "key", path: key });
  const ca = readCertificate({ key: "authority", path: authority }).text;
  const { subject, subjectAltName, validToDate } = pair.parsed;
  const names = namesOf({ subject, subjectAltName });
  if (!names.includes(name)) {
    const found = names.length === 0 ? "of no name" : `of ${names.join(", ")}`;
    throw new PemFileError("certificate", `${certificate} is ${found}: it must be of ${name}, the name of this brain`);
  }
  return { cert: pair.cert, key: pair.key, ca, validUntilMs: validToDate.getTime() };
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
