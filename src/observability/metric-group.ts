/** The base of the groups of metrics: each of their metrics is one declaration. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export abstract class MetricGroup {
  protected readonly registry: Registry;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  protected counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  /** A function that counts one, with the values of the labels in their order. */
  protected counting<Labels extends string[]>(
    name: string,
    help: string,
    ...labelNames: Labels
  ): (...values: ValuesOf<Labels>) => void {
    const counter = this.counter(name, help, ...labelNames);
    return (...values) => counter.inc(labelled(labelNames, values));
  }

  /** A function that adds its last argument, with the values of the labels before it. */
  protected adding<Labels extends string[]>(
    name: string,
    help: string,
    ...labelNames: Labels
  ): (...values: [...ValuesOf<Labels>, number]) => void {
    const counter = this.counter(name, help, ...labelNames);
    return (...values) => counter.inc(labelled(labelNames, values), Number(values.at(-1)));
  }

  /** With 0 for each of the values: a rate over a counter that first appears with 1 misses the first event. */
  protected counterOf<Label extends string>(
    name: string,
    help: string,
    label: Label,
    values: readonly string[],
  ): Counter<Label> {
    const counter = this.counter(name, help, label);
    for (const value of values) counter.inc({ [label]: value } as Record<Label, string>, 0);
    return counter;
  }

  /** A function that counts one with one of these values. */
  protected countingOf<Value extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): (value: Value) => void {
    const counter = this.counterOf(name, help, label, values);
    return (value) => counter.inc({ [label]: value });
  }

  protected gauge<Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  /** @param buckets upper bounds, in seconds */
  protected histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }
}

type ValuesOf<Labels extends string[]> = { [K in keyof Labels]: string };

function labelled(names: readonly string[], values: readonly (string | number)[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, String(values[i])]));
}

/** For a count that another component keeps. */
export function setCounter(counter: Counter, count: number): void {
  counter.reset();
  counter.inc(count);
}
