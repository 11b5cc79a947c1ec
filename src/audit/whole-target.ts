/** What a row of the audit trail is on. Pure, and used by those who show rows. */

/** Of a row on a prefix the prefix, with which its reason begins; else its target. */
export function wholeTarget(target: string, type: string, reason: string): string {
  const length = type === "prefix" && reason.startsWith(target) ? /^\/\d+/.exec(reason.slice(target.length)) : null;
  return `${target}${length?.[0] ?? ""}`;
}

/** The reason without the prefix that it begins with. */
export function reasonAlone(target: string, type: string, reason: string): string {
  const whole = wholeTarget(target, type, reason);
  return whole === target ? reason : reason.slice(whole.length).replace(/^: /, "");
}
