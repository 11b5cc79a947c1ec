/** The section `storage`: where history and audit are kept. */
import { type Static, Type } from "@sinclair/typebox";
import { closed, integer, text, withDefaults } from "../load/schema-forms.ts";

const ClickHouse = Type.Object(
  {
    url: text("httpServer"),
    database: text("databaseName", { default: "floodwall" }),
    username_env: Type.Optional(text("variableName")),
    password_env: Type.Optional(text("variableName")),
  },
  closed,
);

export const StorageSection = Type.Object(
  {
    driver: Type.Unsafe<"sqlite" | "clickhouse" | "none">({
      ...Type.Union([Type.Literal("sqlite"), Type.Literal("clickhouse"), Type.Literal("none")]),
      default: "sqlite",
    }),
    path: Type.Optional(text("absolutePath")),
    clickhouse: Type.Optional(ClickHouse),
    retention_days: integer(1, 3660, 30),
    traffic_interval_seconds: integer(1, 3600, 10),
  },
  withDefaults,
);

export interface StorageConfig {
  /** null: storage is off. */
  readonly driver: StorageDriver | null;
  readonly retentionDays: number;
  readonly trafficIntervalSeconds: number;
}

export type StorageDriver =
  | { readonly kind: "sqlite"; readonly path: string }
  | {
      readonly kind: "clickhouse";
      readonly url: string;
      readonly database: string;
      /** Names of environment variables; null: none. */
      readonly usernameEnv: string | null;
      readonly passwordEnv: string | null;
    };

/** The database of history; that of state, which no one may lose, is another. */
const SQLITE_FILE = "history.sqlite";

export function defaultStoragePath(stateDir: string): string {
  return `${stateDir}/${SQLITE_FILE}`;
}

/** A driver `clickhouse` has its section: a rule between the keys says so. */
export function buildStorage(file: Static<typeof StorageSection>, stateDir: string): StorageConfig {
  return {
    driver: buildDriver(file, stateDir),
    retentionDays: file.retention_days,
    trafficIntervalSeconds: file.traffic_interval_seconds,
  };
}

function buildDriver({ driver, path, clickhouse }: Static<typeof StorageSection>, stateDir: string) {
  if (driver === "none") return null;
  if (driver === "sqlite") return { kind: "sqlite", path: path ?? defaultStoragePath(stateDir) } as const;
  if (clickhouse === undefined) throw new Error("bug: driver clickhouse without its section was taken for valid");
  return {
    kind: "clickhouse",
    url: clickhouse.url,
    database: clickhouse.database,
    usernameEnv: clickhouse.username_env ?? null,
    passwordEnv: clickhouse.password_env ?? null,
  } as const;
}
