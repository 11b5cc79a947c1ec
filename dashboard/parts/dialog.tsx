/** A modal question: the browser keeps the focus inside, and Escape cancels. */
import { signal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answer, Failure } from "../api/client.ts";
import { type Look, settle } from "../api/doubtful-order.ts";
import { t } from "../language.ts";
import { place } from "../router.ts";
import { failureText } from "../text/failure.ts";
import { Button } from "./button.tsx";
import { Callout } from "./callout.tsx";
import { focusView } from "./focus-view.ts";
import { showOutcome } from "./outcome.tsx";
import { type GivenReason, givenReason, ReasonField } from "./reason-field.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

interface Asked {
  readonly asker: number;
  readonly dialog: ComponentChildren;
}

const asked = signal<Asked | null>(null);
let askers = 0;

export type DialogOf = (onClose: () => void) => ComponentChildren;

/** Shows a dialog in place of the one that is open. It closes with its view. */
export function showDialog(dialog: DialogOf, asker = ++askers): void {
  const close = () => {
    if (isOpen(asker)) asked.value = null;
  };
  asked.value = { asker, dialog: dialog(close) };
}

function isOpen(asker: number): boolean {
  return asked.peek()?.asker === asker;
}

/**
 * Opens a dialog that stays when its button moves or goes.
 * @param dialog a component with the state of its fields; drawn with the button, as long as that is there
 */
export function useDialog(dialog: DialogOf): () => void {
  const [asker] = useState(() => ++askers);
  const show = () => showDialog(dialog, asker);
  useLayoutEffect(() => {
    if (isOpen(asker)) show();
  });
  return show;
}

function closeAny(): void {
  asked.value = null;
}

/** The dialog that a button of the view opened. */
export function OpenDialog() {
  const view = place.value.steps.join("/");
  // Before the next view takes the focus. Also one of an order that was answered after the sign-out.
  useLayoutEffect(() => {
    closeAny();
    return closeAny;
  }, [view]);
  const { value } = asked;
  return value === null ? null : <Fragment key={value.asker}>{value.dialog}</Fragment>;
}

/** Lists show the effect of an order after at most 100 ms. */
const LISTS_MS = 200;

/** Open while it is mounted. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      // The dialog leaves the page before the browser could restore the focus.
      if (before instanceof HTMLElement) before.focus();
      // Its button may go as well, with what it was for.
      setTimeout(() => {
        if (document.activeElement === document.body) focusView({ preventScroll: true });
      }, LISTS_MS);
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
  /** A field shows that its text is wrong: the order cannot be given. */
  readonly isWrong?: boolean;
  /** The dialog has a field for it, which is part of the order. */
  readonly asksReason?: true;
  readonly act: (given: GivenReason) => Promise<Answer<T>>;
  /** Looks whether the order is in force, for one that was not answered. */
  readonly look: Look;
  readonly onDone: (data: T) => void;
  /** An order that was not answered turned out to be carried out: reads again what it changed. */
  readonly onFound?: () => void;
  /** Whether the refusal is shown at a field of the form. */
  readonly onRefused?: (failure: Failure) => boolean;
  readonly onClose: () => void;
}

type State =
  | { readonly kind: "asking" | "busy" | "doubt" | "not_done" | "at_field" }
  | { readonly kind: "refused"; readonly text: string };

/**
 * Asks, acts, and stays open with the service's message if the service refuses. Whether an order without an answer was
 * carried out is looked up, also after the dialog is closed.
 */
export function Confirm<T>(props: ConfirmProps<T>) {
  const { title, children, verb, isDangerous, isWrong, asksReason, act, look, onDone, onFound, onRefused, onClose } =
    props;
  const [reason, setReason] = useState("");
  const [state, setState] = useState<State>({ kind: "asking" });
  const isClosed = useRef(false);
  useEffect(
    () => () => {
      isClosed.current = true;
    },
    [],
  );
  const submit = async () => {
    setState({ kind: "busy" });
    const answer = await act(givenReason(reason));
    if (answer.kind === "answer") {
      onDone(answer.data);
      if (!isClosed.current) onClose();
    } else if (answer.kind === "refused") {
      const isAtField = onRefused?.(answer) === true;
      setState(isAtField ? { kind: "at_field" } : { kind: "refused", text: failureText(answer) });
    } else await resolve();
  };
  const resolve = async () => {
    setState({ kind: "doubt" });
    const verdict = await settle(look);
    if (verdict === "done") {
      onFound?.();
      showOutcome(t`${title.replace(/\?$/, "")}: carried out. Floodwall had not answered in time.`);
      if (!isClosed.current) onClose();
    } else if (isClosed.current)
      showOutcome(t`${title.replace(/\?$/, "")}: not carried out. Floodwall had not answered.`);
    else setState({ kind: "not_done" });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (state.kind !== "doubt") void submit();
        }}
      >
        {children}
        {asksReason === true && <ReasonField value={reason} onInput={setReason} />}
        <Result state={state} />
        <div class="dialog-buttons">
          <Button onClick={onClose}>{state.kind === "doubt" ? t`Close` : t`Cancel`}</Button>
          {state.kind !== "doubt" && (
            <Button
              type="submit"
              look={isDangerous === true ? "danger" : "primary"}
              isBusy={state.kind === "busy"}
              isDisabled={isWrong === true}
            >
              {verb}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

function Result({ state }: { readonly state: State }) {
  switch (state.kind) {
    case "asking":
    case "busy":
      return null;
    case "refused":
      return (
        <Callout tone="danger" title={t`Refused`} isAlert>
          {state.text}
        </Callout>
      );
    case "at_field":
      return <p class="fault">{t`Refused: see the marked field.`}</p>;
    case "doubt":
      return (
        <Callout
          tone="warn"
          title={t`Not known whether it was carried out`}
          isAlert
        >{t`Floodwall did not answer the order. The page looks every second until it knows, and says so, also when this is closed.`}</Callout>
      );
    case "not_done":
      return (
        <Callout
          tone="danger"
          title={t`Not carried out`}
          isAlert
        >{t`Floodwall answers again and does not have it. Order it again.`}</Callout>
      );
    default:
      return state satisfies never;
  }
}
