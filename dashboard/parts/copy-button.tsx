/** A button that copies a text. Without a secure context, or if the user has denied it, a browser gives no access to the clipboard. */
import { useState } from "preact/hooks";
import { t } from "../language.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { showOutcome } from "./outcome.tsx";

interface CopyButtonProps {
  readonly text: string;
  /** The copied subject: the title of the dialog that shows it where the browser does not copy. */
  readonly title: string;
  /** The message after it was copied. */
  readonly done: string;
  readonly textOf: () => string;
}

export function CopyButton({ text, title, done, textOf }: CopyButtonProps) {
  const [shown, setShown] = useState<string | null>(null);
  const copy = async () => {
    const copied = textOf();
    try {
      await navigator.clipboard.writeText(copied);
      showOutcome(done);
    } catch {
      setShown(copied);
    }
  };
  return (
    <>
      <Button onClick={() => void copy()}>{text}</Button>
      {shown !== null && (
        <Dialog title={title} onClose={() => setShown(null)}>
          <p>{t`The browser does not let the page copy: mark the text and copy it.`}</p>
          <textarea
            class="report"
            aria-label={title}
            readOnly
            rows={Math.min(16, shown.split("\n").length)}
            value={shown}
            onFocus={(event) => event.currentTarget.select()}
          />
          <div class="dialog-buttons">
            <Button onClick={() => setShown(null)}>{t`Close`}</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** For a host or a prefix. */
export function CopyAddress({ address }: { readonly address: string }) {
  return (
    <CopyButton text={t`Copy ${address}`} title={t`Address`} done={t`${address} is copied.`} textOf={() => address} />
  );
}
