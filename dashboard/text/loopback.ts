/** Whether a page was loaded from this machine itself. Pure. */

/** @param hostname of a URL, where IPv6 addresses are in brackets. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
