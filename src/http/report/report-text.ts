/** Numbers of reports in words. What was sampled is never without its error. */
const STEPS = ["", " k", " M", " G", " T", " P"];

/** Three digits: `213 k`. */
export function short(value: number): string {
  const rounded = Number(value.toPrecision(3));
  const step = Math.min(STEPS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, rounded)) / 3)));
  return `${Number((rounded / 1000 ** step).toPrecision(3))}${STEPS[step]}`;
}

export const bitRate = (mbps: number) => `${short(mbps * 1e6)}bit/s`.replace(/(\d)bit/, "$1 bit");
export const packetRate = (pps: number) => `${short(pps)} packets/s`;

/** ` ± 9 %`; empty where it is exact. */
export function error(fraction: number | undefined): string {
  return fraction === undefined ? "" : ` ± ${percent(fraction)}`;
}

/** `43 %`, `0.39 %`, `99.6 %`: 100 % is all. */
export function percent(fraction: number): string {
  const value = 100 * fraction;
  // Sums of fractions are not exact.
  if (value >= 99.5 && value < 100 - 1e-6) return `${(Math.floor(10 * value + 1e-6) / 10).toFixed(1)} %`;
  return `${value >= 10 ? Math.round(value) : Number(value.toPrecision(2))} %`;
}

/** Deviate of the normal distribution, for 95 %. */
const DEVIATE = 1.96;

/**
 * A share of packets that were sampled by chance, with its distance to the farther end of its interval of 95 %: Wilson's (Wilson
 * 1927), which has a width for all and for none of a few packets too.
 */
export function sampledShare(packets: number, total: number): string {
  const count = Math.max(1, total);
  const [share, weight] = [packets / count, DEVIATE ** 2 / count];
  const middle = (share + weight / 2) / (1 + weight);
  const half = (DEVIATE / (1 + weight)) * Math.sqrt((share * (1 - share) + weight / 4) / count);
  return `${percent(share)} ± ${percent(Math.abs(share - middle) + half)}`;
}

export function utc(time: string | number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function seconds(count: number): string {
  if (count < 120) return `${Number(count.toPrecision(3))} s`;
  const minutes = Math.round(count / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** More samples than the peak has are behind means and sums: their error is no larger. Empty where it is exact. */
export function errorAtMost(fraction: number | undefined): string {
  return fraction === undefined ? "" : ` (± ${percent(fraction)} at most)`;
}

export function amount(packets: number, bits: number): string {
  return `${short(packets)} packets, ${short(bits / 8)} bytes`;
}

export const words = (name: string) => name.replaceAll("_", " ");

/** `TCP SYN packets` of `tcp_syn_pps`. */
export function metricWords(metric: string): string {
  if (metric === "flows_per_sec") return "new flows";
  const parts: Readonly<Record<string, string>> = { pps: "packets", mbps: "bits", frag: "fragment" };
  return metric
    .split("_")
    .map((part) => parts[part] ?? part.toUpperCase())
    .join(" ");
}
