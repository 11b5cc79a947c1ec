/** What the kernel says of the UDP sockets at a port of a network namespace. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Undo } from "../fixtures/undo.ts";
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

/** What the kernel grants at most, and to a program that asks for nothing. */
const BUFFER_SETTINGS = ["rmem_max", "rmem_default"].map((name) => `/proc/sys/net/core/${name}`);

/** Grants receive buffers of this size to all programs until it is undone: a setting of the whole machine. */
export function grantReceiveBuffers(undo: Undo, bytes: number): void {
  for (const path of BUFFER_SETTINGS) {
    const before = readFileSync(path, "utf8");
    if (Number(before) >= bytes) continue;
    undo.add(() => writeFileSync(path, before));
    writeFileSync(path, String(bytes));
  }
}
