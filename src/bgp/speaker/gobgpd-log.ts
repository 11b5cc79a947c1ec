/** Events that gobgpd reports only in its log, one JSON object a line, and not over its API. */
import type { PeerNotification } from "./peer-notification.ts";

/** Why gobgpd ended, from the end of its log; null: unknown. */
export function lastLogError(log: string): string | null {
  for (const line of log.trimEnd().split("\n").reverse()) {
    const { level, msg, Error: cause } = logEntry(line);
    // Lower case in GoBGP 3, upper case in GoBGP 4.
    if (!/^(fatal|panic|error|warn)/i.test(String(level))) continue;
    return cause === undefined ? String(msg) : `${String(msg)}: ${errorText(cause)}`;
  }
  return null;
}

/**
 * Says what to do about the cause of a start that failed. The orphan of a service with another state folder holds the port
 * until its last route expires.
 */
export function startRemedy(cause: string, port: number): string {
  if (!cause.includes("address already in use")) return "";
  return `; see who holds the port with \`ss -ltnp 'sport = :${port}'\`: a gobgpd of Floodwall with another state_dir is ended by its process id, another program needs another bgp.listen`;
}

/** The subject of a line, such as a neighbor's address, and its message; null: not a log entry. */
export function subjectOfLine(line: string): { readonly key: string; readonly text: string } | null {
  const { Key: key, msg } = logEntry(line);
  return typeof key === "string" && typeof msg === "string" ? { key, text: msg } : null;
}

/** The notifications from neighbors, in order. */
export function notificationsIn(log: string): readonly PeerNotification[] {
  return log.split("\n").flatMap((line) => {
    // Most lines say something else.
    if (!line.includes("received notification")) return [];
    const { Key: neighbor, Code: code, Subcode: subcode, Data: data } = logEntry(line);
    if (typeof neighbor !== "string" || typeof code !== "number" || typeof subcode !== "number") return [];
    return { neighbor, code, subcode, data: Buffer.from(typeof data === "string" ? data : "", "base64") };
  });
}

/** Empty: not a log entry. */
function logEntry(line: string): Readonly<Record<string, unknown>> {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "object" && entry !== null ? { ...entry } : {};
  } catch {
    return {};
  }
}

/** Go's network errors are logged as objects. */
function errorText(cause: unknown): string {
  return typeof cause === "string" ? cause : JSON.stringify(cause);
}
