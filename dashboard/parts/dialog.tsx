/** A modal question: the browser keeps the focus inside, and Escape cancels. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Answer } from "../api/client.ts";
import { Button } from "./button.tsx";
import { Callout, failureText } from "./callout.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Open while it is mounted. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      // The dialog leaves the page before the browser could restore the focus.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

export interface ConfirmProps<T> {
  readonly title: string;
  /** The effect of the action. */
  readonly children: ComponentChildren;
  /** The text of the button: `Ban`. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly act: () => Promise<Answer<T>>;
  readonly onDone: (data: T) => void;
  readonly onClose: () => void;
}

/** Asks, acts, and stays open with the service's message if the service refuses. */
export function Confirm<T>({ title, children, verb, isDangerous, act, onDone, onClose }: ConfirmProps<T>) {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly refusal: string | null }>({
    isBusy: false,
    refusal: null,
  });
  const submit = async () => {
    setState({ isBusy: true, refusal: null });
    const answer = await act();
    if (answer.kind === "answer") {
      onDone(answer.data);
      onClose();
    } else setState({ isBusy: false, refusal: failureText(answer) });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {children}
        {state.refusal !== null && (
          <Callout tone="danger" title="Refused" isAlert>
            {state.refusal}
          </Callout>
        )}
        <div class="dialog-buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={isDangerous === true ? "danger" : "primary"} isBusy={state.isBusy}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
