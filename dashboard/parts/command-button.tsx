/** A button that asks before it acts. Hidden from callers who may not act. */
import { mayAct } from "../api/session.ts";
import { Button } from "./button.tsx";
import { Confirm, type ConfirmProps, useDialog } from "./dialog.tsx";

interface CommandButtonProps<T> extends Omit<ConfirmProps<T>, "onClose"> {
  /** For screen readers: names what it is about. */
  readonly label: string;
  readonly text: string;
}

export function CommandButton<T>({ label, text, ...confirm }: CommandButtonProps<T>) {
  const ask = useDialog((onClose) => <Confirm<T> {...confirm} onClose={onClose} />);
  if (!mayAct()) return null;
  return (
    <Button label={label} onClick={ask}>
      {text}
    </Button>
  );
}
