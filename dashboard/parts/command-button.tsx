/** A button that asks before it acts. Hidden from callers who may not act. */
import { useState } from "preact/hooks";
import { mayAct } from "../api/session.ts";
import { Button } from "./button.tsx";
import { Confirm, type ConfirmProps } from "./dialog.tsx";

interface CommandButtonProps<T> extends Omit<ConfirmProps<T>, "onClose"> {
  /** For screen readers: names what it is about. */
  readonly label: string;
  readonly text: string;
}

export function CommandButton<T>({ label, text, ...confirm }: CommandButtonProps<T>) {
  const [isOpen, setOpen] = useState(false);
  if (!mayAct()) return null;
  return (
    <>
      <Button label={label} onClick={() => setOpen(true)}>
        {text}
      </Button>
      {isOpen && <Confirm<T> {...confirm} onClose={() => setOpen(false)} />}
    </>
  );
}
