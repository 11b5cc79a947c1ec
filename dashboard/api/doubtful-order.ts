/** An order without an answer: whether it was carried out is looked up until the service says. Pure. */

/** Whether what was ordered is in force; null: the service did not say. */
export type Look = () => Promise<boolean | null>;

/** `gone`: the page does not wait for it any more. */
type Verdict = "done" | "not_done" | "gone";

const EVERY_MS = 1000;
/** A service that went on after a pause may come to the order after the first look: it is looked for as often as this. */
export const LOOKS_MIN = 6;

interface SettleOptions {
  readonly pause?: () => Promise<void>;
  readonly isGone?: () => boolean;
}

export async function settle(look: Look, { pause = wait, isGone = () => false }: SettleOptions = {}): Promise<Verdict> {
  for (let missed = 0; missed < LOOKS_MIN; ) {
    await pause();
    if (isGone()) return "gone";
    const isInForce = await look();
    if (isInForce === true) return "done";
    missed = isInForce === null ? 0 : missed + 1;
  }
  return "not_done";
}

function wait(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
