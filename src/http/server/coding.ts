/** How an answer may be coded for its caller (RFC 9110, section 12.5.3). */

/**
 * In lower case, from the header Accept-Encoding; null: it was not sent. Of weights only 0 has a meaning, and `*` is
 * ignored.
 */
export function acceptedCodings(header: string | null): ReadonlySet<string> {
  const taken = (header ?? "").split(",").flatMap((entry) => {
    const [, coding = "", weight = "1"] = /^\s*([\w*-]+)\s*(?:;\s*q=([\d.]+)\s*)?$/i.exec(entry) ?? [];
    return Number(weight) > 0 ? [coding.toLowerCase()] : [];
  });
  return new Set(taken);
}
