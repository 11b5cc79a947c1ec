/** The parts of the traffic by origin, with what is missing to the whole. Pure. */
import { t } from "../language.ts";

export interface OriginRow {
  readonly key: string;
  readonly pps: number;
  readonly mbps: number;
  /** It is what remains of the whole, or of the filter. */
  readonly isRest?: true;
}

/** Less than this share of the bits is no row. */
const REST_MIN = 0.005;

/** @param rest the name of the last row: `others`, or `not known` */
export function withRest(rows: readonly OriginRow[], total: Omit<OriginRow, "key">, rest: string): OriginRow[] {
  const left = (of: "pps" | "mbps") => Math.max(0, total[of] - rows.reduce((sum, row) => sum + row[of], 0));
  if (rows.length === 0 || total.mbps <= 0 || left("mbps") / total.mbps < REST_MIN) return [...rows];
  return [...rows, { key: rest, pps: left("pps"), mbps: left("mbps"), isRest: true }];
}

/** The rows that the filter leaves out are one row, so that the shares are still of the whole. */
export function filtered(rows: readonly OriginRow[], isKept: (key: string) => boolean): OriginRow[] {
  const [kept, out] = [true, false].map((wanted) =>
    rows.filter(({ key, isRest }) => (isRest === true || isKept(key)) === wanted),
  ) as [OriginRow[], OriginRow[]];
  if (out.length === 0) return kept;
  const sum = (of: "pps" | "mbps") => out.reduce((total, row) => total + row[of], 0);
  return [...kept, { key: t`left out by the filter`, pps: sum("pps"), mbps: sum("mbps"), isRest: true }];
}
