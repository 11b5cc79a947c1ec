/**
 * The result of the last command: shown for a while, and announced to screen readers. An order that can be taken back
 * exactly has a button for it, for a minute.
 */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Answer } from "../api/client.ts";
import { t } from "../language.ts";
import { failureText } from "../text/failure.ts";
import { Button } from "./button.tsx";

/** The order that is the inverse of the last one. */
export interface Undo {
  /** `Undo the ban of 203.0.113.7`: for screen readers. */
  readonly label: string;
  readonly act: () => Promise<Answer<unknown>>;
  readonly onDone: () => void;
}

interface Shown {
  readonly text: string;
  readonly undo: Undo | null;
}

const NOTHING: Shown = { text: "", undo: null };
const outcome = signal<Shown>(NOTHING);

const SHOWN_MS = 8000;
const UNDO_MS = 60_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** @param undo null: the order has no inverse that restores what was there before. */
export function showOutcome(text: string, undo: Undo | null = null): void {
  clearTimeout(timer);
  outcome.value = { text, undo };
  const hide = () => {
    outcome.value = NOTHING;
  };
  timer = setTimeout(hide, undo === null ? SHOWN_MS : UNDO_MS);
}

/** Always in the page: screen readers announce only changes of an element that exists already. */
export function Outcome() {
  const { text, undo } = outcome.value;
  return (
    <div class="outcome" role="status">
      {text !== "" && (
        <p>
          {text} {undo !== null && <UndoButton undo={undo} />}
        </p>
      )}
    </div>
  );
}

function UndoButton({ undo }: { readonly undo: Undo }) {
  const [isBusy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    const answer = await undo.act();
    setBusy(false);
    showOutcome(undoneText(answer));
    undo.onDone();
  };
  return <Button label={undo.label} isBusy={isBusy} onClick={() => void act()}>{t`Undo`}</Button>;
}

function undoneText(answer: Answer<unknown>): string {
  switch (answer.kind) {
    case "answer":
      return t`It is undone.`;
    case "refused":
      return t`It was not undone: ${failureText(answer)}.`;
    case "unreachable":
      return t`It is not known whether it was undone: Floodwall did not answer. Look whether it is still in force.`;
    default:
      return answer satisfies never;
  }
}
