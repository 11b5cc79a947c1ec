/** The line of a small chart of the last minute. Pure. */
import type { SeriesWire } from "../../src/http/wire/attack-series.ts";

const SPARK_SECONDS = 60;
export const SPARK_WIDTH = 64;
export const SPARK_HEIGHT = 20;

type Point = Pick<SeriesWire["points"][number], "at" | "rate">;

interface Spark {
  /** Attribute `points` of a polyline; the scale begins at 0. */
  readonly points: string;
  readonly lowest: number;
  readonly highest: number;
}

/** null: fewer than two points in the minute before the last one. */
export function sparkOf(points: readonly Point[]): Spark | null {
  const end = Date.parse(points.at(-1)?.at ?? "");
  const shown = points.filter(({ at }) => end - Date.parse(at) <= SPARK_SECONDS * 1000);
  if (shown.length < 2) return null;
  const rates = shown.map(({ rate }) => rate);
  const highest = Math.max(...rates);
  const x = (at: string) => SPARK_WIDTH * (1 - (end - Date.parse(at)) / (SPARK_SECONDS * 1000));
  const y = (rate: number) => SPARK_HEIGHT - 1 - (SPARK_HEIGHT - 2) * (highest === 0 ? 0 : rate / highest);
  return {
    points: shown.map(({ at, rate }) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`).join(" "),
    lowest: Math.min(...rates),
    highest,
  };
}
