/** Every bound of the service, with its unit. Interface section 8, choices section 4. */

/** Ended attacks that `GET /api/v1/attacks` returns. */
export const ENDED_ATTACKS_KEPT = 100;
/** Attacks in progress at once; more are counted and not opened. */
export const ACTIVE_ATTACKS_MAX = 1024;
/** Ended bans kept beside the active ones. */
export const ENDED_BANS_KEPT = 1000;
/** Request bodies, bytes. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Hosts that the addon hands over in one tick. */
export const SCREENED_ROWS_MAX = 8192;
/** Rows read from the addon in one crossing when all hosts are read. */
export const HOST_CHUNK_ROWS = 65_536;
/** Prefixes in all networks and hostgroups. */
export const PREFIXES_MAX = 100_000;
/** Bytes of a configuration file. */
export const CONFIG_BYTES_MAX = 16 * 1024 * 1024;
