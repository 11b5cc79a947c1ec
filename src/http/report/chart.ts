/** Charts of reports as SVG. */
import { type Html, html } from "./html.ts";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [720, 200, 64, 24, 10];

export interface Bar {
  /** Below the first, the middle and the last one. */
  readonly label: string;
  readonly value: number;
  /** The part of it that is drawn darker; 0: none. */
  readonly part: number;
}

interface ChartOptions {
  readonly title: string;
  readonly textOf: (value: number) => string;
  /** A line across; null: none. */
  readonly line: { readonly value: number; readonly text: string } | null;
}

/** A chart of bars of one width, from zero. */
export function chart(bars: readonly Bar[], { title, textOf, line }: ChartOptions): Html {
  const most = Math.max(...bars.map(({ value }) => value), line?.value ?? 0);
  if (bars.length === 0 || !(most > 0)) return html`<p class="note">${title}: nothing is known.</p>`;
  const [width, height] = [(WIDTH - LEFT) / bars.length, HEIGHT - BOTTOM - TOP];
  const y = (value: number) => TOP + height * (1 - value / most);
  const rect = (i: number, value: number, color: string) => {
    const [x, top] = [LEFT + i * width, y(value)];
    return html`<rect x="${n(x)}" y="${n(top)}" width="${n(Math.max(0.5, width * 0.92))}" height="${n(TOP + height - top)}" fill="${color}"/>`;
  };
  const drawn = bars.flatMap(({ value, part }, i) => [
    rect(i, value, "#7aa7d9"),
    ...(part > 0 ? [rect(i, Math.min(part, value), "#1f4e8c")] : []),
  ]);
  const places = [...new Set([0, Math.floor((bars.length - 1) / 2), bars.length - 1])];
  const labels = places.map((i) => {
    const anchor = i === 0 ? "start" : i === bars.length - 1 ? "end" : "middle";
    const x = LEFT + (i + (anchor === "start" ? 0 : anchor === "end" ? 1 : 0.5)) * width;
    return html`<text x="${n(x)}" y="${HEIGHT - 8}" text-anchor="${anchor}">${bars[i]?.label ?? ""}</text>`;
  });
  const scale = [0, most].map(
    (value) => html`<text x="${LEFT - 6}" y="${n(y(value) + 4)}" text-anchor="end">${textOf(value)}</text>`,
  );
  const across =
    line === null
      ? []
      : [
          html`<line x1="${LEFT}" x2="${WIDTH}" y1="${n(y(line.value))}" y2="${n(y(line.value))}" stroke="#b00" stroke-dasharray="4 3"/><text x="${WIDTH}" y="${n(y(line.value) - 4)}" text-anchor="end" fill="#b00">${line.text}</text>`,
        ];
  const axis = html`<line x1="${LEFT}" x2="${WIDTH}" y1="${n(y(0))}" y2="${n(y(0))}" stroke="#888"/>`;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}" font-size="11" font-family="sans-serif">${drawn}${axis}${across}${labels}${scale}</svg>`;
}

function n(value: number): string {
  return value.toFixed(1);
}
