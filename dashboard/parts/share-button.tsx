/** Makes a link that shows one attack, incident or customer to people without a token. Hidden where that is not allowed. */
import { useState } from "preact/hooks";
import type { NewSharedLinkWire, SharedLinksWire } from "../../src/http/wire/guest-link.ts";
import { SHARED_LINK_REASON_MAX } from "../../src/limits.ts";
import { command } from "../api/client.ts";
import { linkOf, SHARED_LINKS_PATH, useSharedLinks } from "../api/guest-links.ts";
import { lookAt } from "../api/look.ts";
import { t } from "../language.ts";
import { momentText } from "../text/format/times.ts";
import { Button } from "./button.tsx";
import { DialogButton } from "./command-button.tsx";
import { Confirm, Dialog, showDialog } from "./dialog.tsx";
import { ChoiceField, TextField } from "./field.tsx";

interface ShareButtonProps {
  readonly kind: "attack" | "incident" | "tenant" | "hostgroup";
  /** Its id, or its name. */
  readonly of: string;
}

const TIMES = [
  ["3600", t`1 hour`],
  ["86400", t`24 hours`],
  ["604800", t`7 days`],
  ["2592000", t`30 days`],
] as const;

export function ShareButton(props: ShareButtonProps) {
  const { links } = useSharedLinks();
  if (links?.allowed !== true) return null;
  return (
    <DialogButton
      label={t`Share a link`}
      text={t`Share …`}
      dialog={(onClose) => <ShareDialog {...props} onClose={onClose} />}
    />
  );
}

function ShareDialog({ kind, of, onClose }: ShareButtonProps & { readonly onClose: () => void }) {
  const [seconds, setSeconds] = useState<(typeof TIMES)[number][0]>("86400");
  const [reason, setReason] = useState("");
  return (
    <Confirm<NewSharedLinkWire>
      title={t`Share a link?`}
      verb={t`Make link`}
      act={() =>
        command(SHARED_LINKS_PATH, {
          [kind]: of,
          ttl_seconds: Number(seconds),
          ...(reason.trim() !== "" && { reason: reason.trim() }),
        })
      }
      // Its secret would not be known: a link that was not answered is ended in the settings.
      look={lookAt<SharedLinksWire>(SHARED_LINKS_PATH, () => false)}
      onDone={(link) => showDialog((close) => <Made link={link} onClose={close} />)}
      onClose={onClose}
    >
      <p>{t`With the link people see this without signing in, as its customer sees it: no names, notes, routers or exporters of yours. It can be ended in the settings.`}</p>
      <ChoiceField label={t`For`} value={seconds} options={TIMES} onChange={setSeconds} />
      <TextField label={t`Reason`} value={reason} onInput={setReason} maxLength={SHARED_LINK_REASON_MAX} />
    </Confirm>
  );
}

function Made({ link, onClose }: { readonly link: NewSharedLinkWire; readonly onClose: () => void }) {
  return (
    <Dialog title={t`The link`} onClose={onClose}>
      <p>{t`It works until ${momentText(Date.parse(link.expires_at), Date.now())}, and is shown only now: copy it.`}</p>
      <textarea
        class="report"
        aria-label={t`The link`}
        readOnly
        rows={3}
        value={linkOf(link.secret)}
        onFocus={(event) => event.currentTarget.select()}
      />
      <div class="dialog-buttons">
        <Button onClick={onClose}>{t`Close`}</Button>
      </div>
    </Dialog>
  );
}
