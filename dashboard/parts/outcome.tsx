/** The result of the last command: shown for a while, and announced to screen readers. */
import { signal } from "@preact/signals";

const outcome = signal("");

const SHOWN_MS = 8000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function showOutcome(text: string): void {
  clearTimeout(timer);
  outcome.value = text;
  timer = setTimeout(() => {
    outcome.value = "";
  }, SHOWN_MS);
}

/** Always in the page: screen readers announce only changes of an element that exists already. */
export function Outcome() {
  return (
    <div class="outcome" role="status">
      {outcome.value !== "" && <p>{outcome.value}</p>}
    </div>
  );
}
