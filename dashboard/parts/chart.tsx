/**
 * A chart of values over time. Its content is also given as text: in its label, and below it for the selected time.
 * Colors are custom properties, so that a chart follows the theme.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../language.ts";
import type { Span } from "../text/format/ranges.ts";
import { clockTime, dayOfMonth } from "../text/format/times.ts";
import { nearest } from "../text/zoom.ts";
import { theme } from "../theme.ts";
import { lonePoints, TIME_STEPS, timeTexts } from "./chart-marks.ts";

export interface Series {
  readonly label: string;
  /** Name of a custom property: `--chart-udp`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  /** `stacked`: drawn on top of the series before it; `shade`: an area behind the lines; default: a separate line. */
  readonly form?: "line" | "dashed" | "stacked" | "shade";
}

interface ChartProps {
  /** For screen readers: what the chart shows, and its main values. */
  readonly label: string;
  /** Seconds since the epoch, increasing. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Time ranges with a tinted background. */
  readonly spans?: readonly Span[];
  /** The range of the time axis; default: from the first to the last of `times`. */
  readonly range?: Span;
  /** Where nothing was recorded. */
  readonly empty?: readonly Span[];
  /** Times with a line across the chart, in seconds since the epoch. */
  readonly marks?: readonly number[];
  /** The time whose values are given, with a stronger line; null or absent: the one under the pointer, else the last. */
  readonly pointedAt?: number | null;
  /** Called with the time under the pointer; null: it has left. */
  readonly onPoint?: (at: number | null) => void;
  readonly heightPx?: number;
  /** Font size of the axes; default: that of small text. */
  readonly fontPx?: number;
  /** Called with the time span over which the pointer was dragged; absent: nothing can be chosen. */
  readonly onBrush?: (span: Span) => void;
  /** An overlay of the plot: a control for the keyboard. */
  readonly children?: ComponentChildren;
}

export function Chart(props: ChartProps) {
  const { label, times, series, format, range, empty } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const look = useLook();
  const form = `${look} ${props.heightPx} ${series.map((each) => `${each.label} ${each.color} ${each.form}`).join()}`;
  useEffect(() => {
    if (holder.current === null) return;
    const made = new Plot(holder.current, props, setPointed);
    plot.current = made;
    return () => made.destroy();
  }, [form]);
  useEffect(() => plot.current?.show(props), [times, series, props.spans, range, empty]);
  useEffect(() => plot.current?.mark(props), [props.marks, props.pointedAt]);
  const elsewhere = props.pointedAt == null ? -1 : nearest(times, props.pointedAt);
  const at = pointed !== null && pointed < times.length ? pointed : elsewhere < 0 ? times.length - 1 : elsewhere;
  return (
    <figure class="chart">
      <div class="chart-frame">
        <div ref={holder} role="img" aria-label={label} />
        {props.children}
      </div>
      <figcaption>
        <span class="chart-time">{times[at] === undefined ? "" : timeText(times[at], range)}</span>
        {series.map((each) => (
          <span key={each.label} class="chart-value">
            <span class="swatch" style={{ background: fillOf(each, `var(${each.color})`) }} aria-hidden="true" />
            {each.label} <b>{valueText(each.values[at], format)}</b>
          </span>
        ))}
        {empty !== undefined && empty.length > 0 && <span>{t`Hatched: nothing recorded`}</span>}
      </figcaption>
    </figure>
  );
}

function shadeOf(color: string): string {
  return `color-mix(in srgb, ${color} 35%, transparent)`;
}

function fillOf({ form }: Series, color: string): string {
  return form === "shade" ? shadeOf(color) : color;
}

const DAY_SECONDS = 86_400;

/** With the date where the times of several days are shown. */
function timeText(at: number, range: Span | undefined): string {
  const isLong = range !== undefined && range.to - range.from > DAY_SECONDS;
  return `${isLong ? `${dayOfMonth(at * 1000)} ` : ""}${clockTime(at * 1000)}`;
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
const AXIS_FONT_PX = 12;
/** A shorter drag is a click that slipped. */
const BRUSH_PX_MIN = 8;

/** Room for a time; for a time, and the date below it. */
const TIME_AXIS_PX = 28;
const DATED_AXIS_PX = 42;
/** Between a label of the axis of values and the chart, and how narrow that axis is at least. */
const LABEL_GAP_PX = 14;
const VALUE_AXIS_PX = 60;
/** Distance of the lines of a hatched area. */
const HATCH_PX = 8;
/** Diameter of the mark of a value without neighbors. */
const LONE_POINT_PX = 6;

/** The library's chart, and the data that it was last given. */
class Plot {
  readonly #plot: uPlot;
  readonly #resize: ResizeObserver;
  readonly #holder: HTMLElement;
  #props: ChartProps;
  #pointed: number | null = null;

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

  /** Draws only the marks again. */
  mark(props: ChartProps): void {
    this.#props = props;
    this.#plot.redraw(false, false);
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
      font: axisFont(this.#props),
    };
    return {
      ...this.#size(),
      legend: { show: false },
      // Leaves half a label of space at the end of the axis.
      padding: [null, 32, null, null],
      cursor: {
        drag: { setScale: false, x: this.#props.onBrush !== undefined, y: false },
        points: { show: false },
      },
      // The axis starts at 0: a chart that starts elsewhere makes small changes look large.
      scales: {
        x: { range: (_, min, max) => this.#xRange(min, max) },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          values: (_, splits) => timeTexts(splits),
          incrs: [...TIME_STEPS],
          space: 70 * this.#scale(),
          size: (_, texts) => heightOf(texts) * this.#scale(),
        },
        {
          ...axis,
          values: (_, splits) => splits.map((value) => this.#props.format(value)),
          size: (plot, values) => widthOf(plot, values, axis.font),
        },
      ],
      series: [{}, ...drawn(this.#props.series).map((series) => seriesOptions(series, color))],
      hooks: {
        drawClear: [(plot) => this.#hatch(plot, color("--line")), (plot) => this.#tint(plot, color("--chart-span"))],
        setSelect: [(plot) => this.#brushed(plot)],
        draw: [
          (plot) => this.#place(plot),
          (plot) => this.#mark(plot, { mark: color("--text-muted"), pointed: color("--accent") }),
        ],
        setCursor: [({ cursor }) => this.#point(cursor.idx ?? null, onPointed)],
      },
    };
  }

  /** For what lies over the plot. */
  #place({ bbox }: uPlot): void {
    const frame = this.#holder.parentElement;
    for (const side of ["left", "top", "width", "height"] as const) {
      frame?.style.setProperty(`--plot-${side}`, `${bbox[side] / devicePixelRatio}px`);
    }
  }

  #point(index: number | null, onPointed: (index: number | null) => void): void {
    if (index === this.#pointed) return;
    this.#pointed = index;
    onPointed(index);
    this.#props.onPoint?.(index === null ? null : (this.#props.times[index] ?? null));
  }

  #mark(plot: uPlot, colors: { readonly mark: string; readonly pointed: string }): void {
    const { marks = [], pointedAt } = this.#props;
    for (const at of marks) drawLine(plot, at, { color: colors.mark, width: 1 });
    if (pointedAt != null) drawLine(plot, pointedAt, { color: colors.pointed, width: 2 });
  }

  #scale(): number {
    return (this.#props.fontPx ?? AXIS_FONT_PX) / AXIS_FONT_PX;
  }

  #brushed(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < BRUSH_PX_MIN) return;
    this.#props.onBrush?.({ from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #xRange(min: number, max: number): [number, number] {
    const { range } = this.#props;
    return range === undefined ? [min, max] : [range.from, range.to];
  }

  #tint(plot: uPlot, color: string): void {
    for (const span of this.#props.spans ?? []) {
      within(plot, span, ({ left, top, width, height }) => {
        plot.ctx.fillStyle = color;
        plot.ctx.fillRect(left, top, width, height);
      });
    }
  }

  #hatch(plot: uPlot, color: string): void {
    for (const span of this.#props.empty ?? []) {
      within(plot, span, ({ left, top, width, height }) => {
        const { ctx } = plot;
        const step = HATCH_PX * devicePixelRatio;
        ctx.strokeStyle = color;
        ctx.lineWidth = devicePixelRatio;
        ctx.beginPath();
        // The lines of two areas that touch go on into each other.
        for (let x = Math.floor((left - height) / step) * step; x < left + width; x += step) {
          ctx.moveTo(x, top + height);
          ctx.lineTo(x + height, top);
        }
        ctx.stroke();
      });
    }
  }
}

function drawLine(plot: uPlot, at: number, { color, width }: { readonly color: string; readonly width: number }): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(at, "x", true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.fillStyle = color;
  ctx.fillRect(x - (width * devicePixelRatio) / 2, bbox.top, width * devicePixelRatio, bbox.height);
}

/** Draws with the span's part of the plot as the only place that can be drawn on. */
function within(plot: uPlot, { from, to }: Span, draw: (box: uPlot.BBox) => void): void {
  const { ctx, bbox } = plot;
  const left = Math.max(bbox.left, plot.valToPos(from, "x", true));
  const width = Math.min(bbox.left + bbox.width, plot.valToPos(to, "x", true)) - left;
  if (width <= 0) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, width, bbox.height);
  ctx.clip();
  draw({ left, top: bbox.top, width, height: bbox.height });
  ctx.restore();
}

function axisFont({ fontPx = AXIS_FONT_PX }: ChartProps): string {
  return `${fontPx}px system-ui, sans-serif`;
}

function heightOf(texts: readonly string[] | null): number {
  return texts?.some((text) => text.includes("\n")) === true ? DATED_AXIS_PX : TIME_AXIS_PX;
}

/** As wide as the longest label of the axis. */
function widthOf(plot: uPlot, values: readonly string[] | null, font: string): number {
  plot.ctx.save();
  plot.ctx.font = font;
  const widest = Math.max(0, ...(values ?? []).map((text) => plot.ctx.measureText(text ?? "").width));
  plot.ctx.restore();
  return Math.max(VALUE_AXIS_PX, Math.ceil(widest) + LABEL_GAP_PX);
}

function seriesOptions({ label, color, form }: Series, resolve: (name: string) => string): uPlot.Series {
  const stroke = resolve(color);
  const lone: uPlot.Series.Points.Filter = (plot, index) => lonePoints([...(plot.data[index] ?? [])]);
  const points = { show: false, filter: lone, size: LONE_POINT_PX, fill: stroke };
  const line = { label, stroke, width: 1.5, spanGaps: false, points };
  if (form === "stacked") return { ...line, fill: stroke, width: 0 };
  if (form === "shade") return { ...line, fill: shadeOf(stroke), width: 0 };
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
