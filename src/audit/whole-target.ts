/** The texts by which rows of the audit trail on prefixes are shown, also by the dashboard. Pure, without imports. */

/** The prefix, with which the reason of a row on one begins; else the target. */
export function wholeTarget(target: string, type: string, reason: string): string {
  const length = type === "prefix" && reason.startsWith(target) ? /^\/\d+/.exec(reason.slice(target.length)) : null;
  return `${target}${length?.[0] ?? ""}`;
}

/** The reason without the prefix that it begins with. */
export function reasonAlone(target: string, type: string, reason: string): string {
  const whole = wholeTarget(target, type, reason);
  return whole === target ? reason : reason.slice(whole.length).replace(/^: /, "");
}
