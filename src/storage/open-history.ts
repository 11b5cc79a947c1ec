/** Creates the configured driver. */
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import { ClickhouseHistory } from "./clickhouse/clickhouse-history.ts";
import type { HistoryDriver } from "./history-driver.ts";
import { SqliteHistory } from "./sqlite/sqlite-history.ts";
import type { StorageConfig } from "./storage-config.ts";

/** null: storage is off. Does not open the database. */
export function historyDriver(
  { driver, retentionDays }: StorageConfig,
  { environment, clock }: { readonly environment: Environment; readonly clock: Clock },
): HistoryDriver | null {
  switch (driver?.kind) {
    case undefined:
      return null;
    case "sqlite":
      return new SqliteHistory({ ...driver, retentionDays });
    case "clickhouse":
      return new ClickhouseHistory({ ...driver, retentionDays, environment, clock });
    default:
      return driver satisfies never;
  }
}
