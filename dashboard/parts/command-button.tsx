/** Buttons that ask before they act. Hidden from callers who may not act. */
import { mayAct } from "../api/session.ts";
import { Button } from "./button.tsx";
import { Confirm, type ConfirmProps, type DialogOf, useDialog } from "./dialog.tsx";

interface ButtonProps {
  /** For screen readers: names what it is about. */
  readonly label: string;
  readonly text: string;
}

export function DialogButton({ label, text, dialog }: ButtonProps & { readonly dialog: DialogOf }) {
  const ask = useDialog(dialog);
  if (!mayAct()) return null;
  return (
    <Button label={label} onClick={ask}>
      {text}
    </Button>
  );
}

/** For an order without fields but the reason: others have a dialog of their own, which outlives the button. */
export function CommandButton<T>({ label, text, ...confirm }: ButtonProps & Omit<ConfirmProps<T>, "onClose">) {
  return <DialogButton label={label} text={text} dialog={(onClose) => <Confirm<T> {...confirm} onClose={onClose} />} />;
}
