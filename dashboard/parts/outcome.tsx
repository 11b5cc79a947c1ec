/** What came of the last order: shown for a while, and read out. */
import { signal } from "@preact/signals";

const outcome = signal("");

const SHOWN_MS = 8000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function tellOutcome(text: string): void {
  clearTimeout(timer);
  outcome.value = text;
  timer = setTimeout(() => {
    outcome.value = "";
  }, SHOWN_MS);
}

/** Once in the page, and always there: what comes into it later is read out. */
export function Outcome() {
  return (
    <div class="outcome" role="status">
      {outcome.value !== "" && <p>{outcome.value}</p>}
    </div>
  );
}
