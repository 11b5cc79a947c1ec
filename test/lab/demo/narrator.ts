/** Tells what happens and when, a line a step. */
export class Narrator {
  readonly #startedMs = performance.now();

  step(name: string, text: string): void {
    console.log(`${this.#time()}  ${name.padEnd(8)}${text}`);
  }

  fail(text: string): void {
    console.error(`${this.#time()}  FAILED  ${text}`);
  }

  #time(): string {
    return `${((performance.now() - this.#startedMs) / 1000).toFixed(3).padStart(8)} s`;
  }
}

/** `200,000`. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
