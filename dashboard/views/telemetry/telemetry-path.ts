/** Where the exporters are read. Pure. */

const PATH = "/api/v1/telemetry";

/** One that was never heard has no port, and its address may be a prefix, which the query does not take: it is in the list. */
export function telemetryPath(address: string | undefined, listen: string | undefined): string {
  return address === undefined || listen === undefined ? PATH : `${PATH}?address=${encodeURIComponent(address)}`;
}
