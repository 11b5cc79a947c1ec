/** The section `storage`: where the history is kept, and for how long. */

export interface StorageConfig {
  /** null: storage is off. */
  readonly driver: StorageDriver | null;
  readonly retentionDays: number;
  readonly trafficIntervalSeconds: number;
}

export type StorageDriver =
  | { readonly kind: "sqlite"; readonly path: string; readonly maxBytes: number }
  | {
      readonly kind: "clickhouse";
      readonly url: string;
      readonly database: string;
      /** Bytes of the tables of traffic and edge history. */
      readonly maxBytes: number;
      /** Names of environment variables; null: none. */
      readonly usernameEnv: string | null;
      readonly passwordEnv: string | null;
    };

/** The history's file; the state database, which must not be lost, is separate. */
const SQLITE_FILE = "history.sqlite";

export function defaultStoragePath(stateDir: string): string {
  return `${stateDir}/${SQLITE_FILE}`;
}
