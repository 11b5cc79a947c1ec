/** What the kernel says of the UDP sockets at a port of a network namespace. */
import type { Namespace } from "../lab/namespaces.ts";

export interface ReceiveSocket {
  /** Datagrams that found the buffer full since the socket was opened. */
  readonly drops: number;
  /** Bytes in the buffer. */
  readonly waiting: number;
}

/** Of all sockets at the port; null: there is none. */
export function socketAt(namespace: Namespace, port: number): ReceiveSocket | null {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = namespace
    .run(["cat", "/proc/net/udp", "/proc/net/udp6"])
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = ""]) => local.endsWith(end));
  if (rows.length === 0) return null;
  const sum = (value: (row: readonly string[]) => number) => rows.reduce((total, row) => total + value(row), 0);
  return {
    drops: sum((row) => Number(row.at(-1))),
    waiting: sum((row) => Number.parseInt(row[4]?.split(":")[1] ?? "0", 16)),
  };
}
