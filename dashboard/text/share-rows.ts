/** The rows of a list of shares, with what is missing to the whole. Pure. */

interface ShareRow {
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}

/** Less than this share is no row: shares are rounded. */
const REST_MIN = 0.005;

/**
 * The rest of the whole as a last row, so that the shares sum to 100 %.
 * @param rest its name: `others`, where each packet has such a value, else `not known`
 */
export function withRest<Row extends ShareRow>(rows: readonly Row[], total: number, rest: string): (Row | ShareRow)[] {
  const left = total - rows.reduce((sum, { packets }) => sum + packets, 0);
  if (rows.length === 0 || total <= 0 || left / total < REST_MIN) return [...rows];
  return [...rows, { key: rest, packets: left, bytes: 0 }];
}
