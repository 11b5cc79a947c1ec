/** The parts of the traffic by origin, with what is missing to the whole. Pure. */

export interface OriginRow {
  readonly key: string;
  readonly pps: number;
  readonly mbps: number;
}

/** Less than this share of the bits is no row. */
const REST_MIN = 0.005;

/** @param rest the name of the last row: `others`, or `not known` */
export function withRest(rows: readonly OriginRow[], total: Omit<OriginRow, "key">, rest: string): OriginRow[] {
  const left = (of: "pps" | "mbps") => Math.max(0, total[of] - rows.reduce((sum, row) => sum + row[of], 0));
  if (rows.length === 0 || total.mbps <= 0 || left("mbps") / total.mbps < REST_MIN) return [...rows];
  return [...rows, { key: rest, pps: left("pps"), mbps: left("mbps") }];
}
