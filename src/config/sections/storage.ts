/** The section `storage`: where the history is stored. */
import { type Static, Type } from "@sinclair/typebox";

import { closedObject, defaultedObject, described, integer, oneOf, text } from "../../schema/schema-forms.ts";
import { defaultStoragePath, type StorageConfig } from "../../storage/storage-config.ts";

/** The size of traffic and edge history, bytes: the smallest that can be configured, and the defaults of the drivers. */
const HISTORY_BYTES_MIN = 16 * 1024 * 1024;
export const HISTORY_BYTES_DEFAULT = 50_000_000_000;
export const CLICKHOUSE_BYTES_DEFAULT = 1_000_000_000_000;

const ClickHouse = closedObject({
  url: described(text("httpServer"), "The server, without account, path or options."),
  database: described(
    text("databaseName", { default: "floodwall" }),
    "The database. It is created with its tables where it is missing.",
  ),
  username_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the user name, read for each request.",
  ),
  password_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the password, read for each request.",
  ),
});

export const StorageSection = described(
  defaultedObject({
    driver: described(
      Type.Unsafe<"sqlite" | "clickhouse" | "none">({
        ...oneOf("sqlite", "clickhouse", "none"),
        default: "sqlite",
      }),
      "Where history is kept: in files on this machine, on a ClickHouse server, or nowhere.",
    ),
    path: described(
      Type.Optional(text("absolutePath")),
      "The SQLite file of traffic and edge history; attacks and audit trail are beside it, in a file whose name has `-audit` in front of its ending. Allowed with driver `sqlite` only.",
      { ifAbsent: "`history.sqlite` in `state_dir`" },
    ),
    clickhouse: described(
      Type.Optional(ClickHouse),
      "The ClickHouse server. Required with driver `clickhouse` and not allowed otherwise.",
    ),
    retention_days: described(integer(1, 3660, 30), "How long history is kept."),
    max_bytes: described(
      Type.Optional(integer(HISTORY_BYTES_MIN, Number.MAX_SAFE_INTEGER)),
      "The size of traffic and edge history, in bytes. Before the SQLite file reaches it, the oldest history is removed; on a ClickHouse server the oldest day of the largest table is removed when the tables exceed it. Not allowed with driver `none`.",
      { ifAbsent: "50 GB in SQLite, 1 TB in ClickHouse" },
    ),
    traffic_interval_seconds: described(
      integer(1, 3600, 10),
      "How often the rates of hosts are written to the history.",
    ),
  }),
  "History: traffic, attacks, the audit trail and edge reports.",
  {
    examples: [
      { path: "/srv/floodwall/history.sqlite", retention_days: 90 },
      {
        driver: "clickhouse",
        clickhouse: {
          url: "http://127.0.0.1:8123",
          username_env: "CLICKHOUSE_USER",
          password_env: "CLICKHOUSE_PASSWORD",
        },
      },
    ],
  },
);

/** A rule between the keys ensures that driver `clickhouse` has its section. */
export function buildStorage(file: Static<typeof StorageSection>, stateDir: string): StorageConfig {
  return {
    driver: buildDriver(file, stateDir),
    retentionDays: file.retention_days,
    trafficIntervalSeconds: file.traffic_interval_seconds,
  };
}

function buildDriver(
  { driver, path, clickhouse, max_bytes: maxBytes }: Static<typeof StorageSection>,
  stateDir: string,
) {
  if (driver === "none") return null;
  if (driver === "sqlite") {
    const own = path ?? defaultStoragePath(stateDir);
    return { kind: "sqlite", path: own, maxBytes: maxBytes ?? HISTORY_BYTES_DEFAULT } as const;
  }
  if (clickhouse === undefined) throw new Error("bug: driver clickhouse without its section was taken for valid");
  return {
    kind: "clickhouse",
    url: clickhouse.url,
    database: clickhouse.database,
    maxBytes: maxBytes ?? CLICKHOUSE_BYTES_DEFAULT,
    usernameEnv: clickhouse.username_env ?? null,
    passwordEnv: clickhouse.password_env ?? null,
  } as const;
}
