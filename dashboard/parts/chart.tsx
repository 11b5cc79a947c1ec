/**
 * A chart of values over time. Its content is also given as text: in its label, and below it for the selected time.
 * Colors are custom properties, so that a chart follows the theme.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { clockTime, shortTime } from "../text/format/times.ts";
import { theme } from "../theme.ts";

export interface Series {
  readonly label: string;
  /** Name of a custom property: `--chart-udp`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  /** `stacked`: drawn on top of the series before it; default: a separate line. */
  readonly form?: "line" | "dashed" | "stacked";
}

export interface ChartProps {
  /** For screen readers: what the chart shows, and its main values. */
  readonly label: string;
  /** Seconds since the epoch, increasing. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Time ranges with a tinted background. */
  readonly spans?: readonly { readonly from: number; readonly to: number }[];
  readonly heightPx?: number;
}

export function Chart(props: ChartProps) {
  const { label, times, series, format } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const look = useLook();
  const form = `${look} ${series.map((each) => `${each.label} ${each.color} ${each.form}`).join()}`;
  useEffect(() => {
    if (holder.current === null) return;
    const made = new Plot(holder.current, props, setPointed);
    plot.current = made;
    return () => made.destroy();
  }, [form]);
  useEffect(() => plot.current?.show(props), [times, series, props.spans]);
  const at = pointed !== null && pointed < times.length ? pointed : times.length - 1;
  return (
    <figure class="chart">
      <div ref={holder} role="img" aria-label={label} />
      <figcaption>
        <span class="chart-time">{times[at] === undefined ? "" : clockTime(times[at] * 1000)}</span>
        {series.map((each) => (
          <span key={each.label} class="chart-value">
            <span class="swatch" style={{ background: `var(${each.color})` }} aria-hidden="true" />
            {each.label} <b>{valueText(each.values[at], format)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

/** Changes when the colors change. */
function useLook(): string {
  const [isDark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const onChange = () => setDark(DARK.matches);
    DARK.addEventListener("change", onChange);
    return () => DARK.removeEventListener("change", onChange);
  }, []);
  return `${theme.value} ${isDark}`;
}

const DARK = matchMedia("(prefers-color-scheme: dark)");
const HEIGHT_PX = 180;
/** Seconds between two marks on the time axis, so that no label repeats. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 604_800];
const AXIS_FONT = "12px system-ui, sans-serif";

/** Shows seconds where the minutes would repeat. */
function timeTexts(splits: readonly number[]): string[] {
  const isFine = splits.length > 1 && (splits[1] ?? 0) - (splits[0] ?? 0) < 60;
  return splits.map((second) => (isFine ? clockTime(second * 1000) : shortTime(second * 1000)));
}

/** The library's chart, and the data that it was last given. */
class Plot {
  readonly #plot: uPlot;
  readonly #resize: ResizeObserver;
  readonly #holder: HTMLElement;
  #props: ChartProps;

  constructor(holder: HTMLElement, props: ChartProps, onPointed: (index: number | null) => void) {
    this.#holder = holder;
    this.#props = props;
    this.#plot = new uPlot(this.#options(onPointed), dataOf(props), holder);
    this.#resize = new ResizeObserver(() => this.#plot.setSize(this.#size()));
    this.#resize.observe(holder);
  }

  show(props: ChartProps): void {
    this.#props = props;
    this.#plot.setData(dataOf(props));
  }

  destroy(): void {
    this.#resize.disconnect();
    this.#plot.destroy();
  }

  #size() {
    return { width: Math.max(this.#holder.clientWidth, 100), height: this.#props.heightPx ?? HEIGHT_PX };
  }

  #options(onPointed: (index: number | null) => void): uPlot.Options {
    const color = (name: string) => resolved(this.#holder, name);
    const axis = {
      stroke: color("--text-muted"),
      grid: { stroke: color("--line"), width: 1 },
      ticks: { show: false },
      font: AXIS_FONT,
    };
    return {
      ...this.#size(),
      legend: { show: false },
      // Leaves half a label of space at the end of the axis.
      padding: [null, 32, null, null],
      cursor: { drag: { setScale: false }, points: { show: false } },
      // The axis starts at 0: a chart that starts elsewhere makes small changes look large.
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, values: (_, splits) => timeTexts(splits), incrs: TIME_STEPS, space: 70, size: 28 },
        { ...axis, values: (_, splits) => splits.map((value) => this.#props.format(value)), size: 76 },
      ],
      series: [{}, ...drawn(this.#props.series).map((series) => seriesOptions(series, color))],
      hooks: {
        drawClear: [(plot) => this.#tint(plot, color("--chart-span"))],
        setCursor: [({ cursor }) => onPointed(cursor.idx ?? null)],
      },
    };
  }

  #tint(plot: uPlot, color: string): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = color;
    for (const { from, to } of this.#props.spans ?? []) {
      const left = Math.max(bbox.left, plot.valToPos(from, "x", true));
      const right = Math.min(bbox.left + bbox.width, plot.valToPos(to, "x", true));
      if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.restore();
  }
}

function seriesOptions({ label, color, form }: Series, resolve: (name: string) => string): uPlot.Series {
  const stroke = resolve(color);
  const line = { label, stroke, width: 1.5, spanGaps: false, points: { show: false } };
  if (form === "stacked") return { ...line, fill: stroke, width: 0 };
  return form === "dashed" ? { ...line, dash: [6, 4] } : line;
}

/** The top of a stack first, so that the series below are drawn over it. */
function drawn(series: readonly Series[]): readonly Series[] {
  const stack = series.filter(({ form }) => form === "stacked");
  return [...stack.toReversed(), ...series.filter(({ form }) => form !== "stacked")];
}

function dataOf({ times, series }: ChartProps): uPlot.AlignedData {
  const sums = new Map<Series, (number | null)[]>();
  const below = times.map(() => 0);
  for (const each of series) {
    if (each.form !== "stacked") continue;
    for (let i = 0; i < below.length; i++) below[i] = (below[i] ?? 0) + (each.values[i] ?? 0);
    sums.set(each, [...below]);
  }
  return [[...times], ...drawn(series).map((each) => sums.get(each) ?? [...each.values])];
}

/** A canvas cannot resolve custom properties. */
function resolved(holder: HTMLElement, name: string): string {
  const probe = holder.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
