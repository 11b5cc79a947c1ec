/** Where the exporters are read. Pure. */

const PATH = "/api/v1/telemetry";

/** Before its first datagram an exporter has no port, and its address may be a prefix, which the query does not take. */
export function telemetryPath(address: string | undefined, listen: string | undefined): string {
  return address === undefined || listen === undefined ? PATH : `${PATH}?address=${encodeURIComponent(address)}`;
}
