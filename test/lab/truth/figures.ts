/** Figures as the dashboard writes them, with three digits and a prefix of the unit. */

export interface Sized {
  readonly where: string;
  /** null: it is not shown there. */
  readonly packets: number | null;
  readonly peak: number;
  /** A rate over the detection window, not over a tick. */
  readonly isOfWindow: boolean;
}

const PREFIXES: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Of `30.2 kpps, …` or `9.06 M packets, …`: 30200 and 9060000. NaN: the text begins with no figure. */
export function firstFigure(text: string): number {
  const [, number = "", prefix = ""] = /^([\d.]+) ?([kMGT]?)(?: packets|pps|\b)/.exec(text.trim()) ?? [];
  return number === "" ? Number.NaN : Number(number) * (PREFIXES[prefix] ?? Number.NaN);
}

/** Of what should be: 0.05 is five percent too much. */
export function difference(is: number, should: number): number {
  return is / should - 1;
}
