/** The certificate and the key with which the listener serves TLS. Read again while the service runs. */
import { readKeyPair } from "../../system/pem-files.ts";

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

/** Throws PemFileError, also when the key is that of another certificate. */
export function readTlsPair({ certFile, keyFile }: TlsFiles): TlsPair {
  const { cert, key } = readKeyPair({ key: "cert_file", path: certFile }, { key: "key_file", path: keyFile });
  return { cert, key };
}
