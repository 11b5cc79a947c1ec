/** Shows what a ban would do, before the user confirms it. */
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { type Answer, command } from "../api/client.ts";
import { serviceNow } from "../api/contact.ts";
import { t } from "../language.ts";
import { previewSentences } from "../text/ban-preview.ts";
import { failureText } from "../text/failure.ts";
import { routeWords } from "../text/timeline.ts";
import { useAnswer } from "./order-effect.tsx";

/** Asks for what is filled in now. */
export function askBan(order: object): Promise<Answer<OrderPreviewWire>> {
  return command<OrderPreviewWire>("/api/v1/bans/preview", order);
}

/** @param order null: it is not complete. */
export function useBanPreview(order: object | null): Answer<OrderPreviewWire> | null {
  return useAnswer(order === null ? null : JSON.stringify(order), () => askBan(order ?? {}));
}

export function isRefused(shown: Answer<OrderPreviewWire> | null): boolean {
  return shown?.kind === "answer" && shown.data.ban.state === "rejected";
}

interface BanPreviewProps {
  /** The text in the field of the address. */
  readonly ip: string;
  readonly isComplete: boolean;
  /** null: no answer yet. */
  readonly shown: Answer<OrderPreviewWire> | null;
}

export function BanPreview(props: BanPreviewProps) {
  return (
    <div role="status" class="ban-preview">
      <Preview {...props} />
    </div>
  );
}

function Preview({ ip, isComplete, shown }: BanPreviewProps) {
  if (!isComplete) {
    return <p class="muted">{ip === "" ? t`Type an address.` : t`An address is 203.0.113.7 or 2001:db8::7.`}</p>;
  }
  if (shown === null) return <p class="muted">{t`Loading a preview of the ban …`}</p>;
  if (shown.kind !== "answer") return <p>{failureText(shown)}</p>;
  const { ban, hostgroup } = shown.data;
  const sentences = previewSentences(shown.data, serviceNow());
  return (
    <>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p class="muted">
        {[
          ...(hostgroup === undefined ? [] : [t`Hostgroup ${hostgroup}`]),
          ...(ban.state === "active" ? [routeWords(ban.route)] : []),
        ].join(" · ")}
      </p>
    </>
  );
}
