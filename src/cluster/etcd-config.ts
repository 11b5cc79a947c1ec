/** The keys `cluster.etcd`: the members of an etcd, and how this service signs in there. */

export interface EtcdConfig {
  /** At least one; `https://HOST:PORT`, or `http://` on loopback. */
  readonly endpoints: readonly string[];
  /** All keys of the cluster begin with it; it ends with a slash. */
  readonly prefix: string;
  /** Paths of PEM files; null: the system's authorities. */
  readonly authorityPath: string | null;
  /** Client certificate; both or neither. */
  readonly certificatePath: string | null;
  readonly keyPath: string | null;
  readonly login: EtcdLoginConfig | null;
}

export interface EtcdLoginConfig {
  readonly user: string;
  readonly password:
    | { readonly kind: "environment"; readonly variable: string }
    | { readonly kind: "file"; readonly path: string };
}
