/** Shows what a ban would do, before the user confirms it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { type Answer, command, type Failure } from "../api/client.ts";
import { serviceNow } from "../api/contact.ts";
import { activeAttacks } from "../api/live.ts";
import { t } from "../language.ts";
import { needsTarget, targetAgainText, unseenText } from "../text/ban-order.ts";
import { previewSentences } from "../text/ban-preview.ts";
import { failureText } from "../text/failure.ts";
import { routeWords } from "../text/timeline.ts";
import { TextField } from "./field.tsx";
import { useAnswer, useTypedFor } from "./order-effect.tsx";

/** A preview that the order would be refused for as well. */
const REFUSED_ALIKE: readonly number[] = [400, 401, 403];

interface ConfirmedBan {
  readonly isRefused: boolean;
  /** Asks again what the ban would do. @returns why it is not ordered yet; null: it may be. */
  readonly objection: () => Promise<Failure | null>;
  /** The preview, and the field for the target where it must be typed again. */
  readonly view: ComponentChildren;
}

/** A ban whose target must be typed again if it hits much that is in no attack, and that is ordered twice if that is not known. */
export function useConfirmedBan(ip: string, order: object, isComplete: boolean): ConfirmedBan {
  const key = JSON.stringify(order);
  const { again, setAgain } = useTypedFor(key);
  const unseen = useRef<string | null>(null);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const { shown, ask } = useAnswer(isComplete ? key : null, () =>
    command<OrderPreviewWire>("/api/v1/bans/preview", order),
  );
  const objection = async () => {
    const now = await ask();
    // Canceled meanwhile: the text is not shown.
    if (isGone.current) return refusal("");
    if (now.kind === "answer")
      return needsTarget(now.data) && again.trim() !== ip ? refusal(targetAgainText(ip)) : null;
    if (now.kind === "refused" && REFUSED_ALIKE.includes(now.status)) return now;
    const isRepeated = unseen.current === key;
    unseen.current = key;
    return isRepeated ? null : refusal(unseenText(failureText(now)));
  };
  const isAnswered = shown?.kind === "answer";
  const view = (
    <>
      <BanPreview ip={ip} isComplete={isComplete} shown={shown} />
      {isAnswered && needsTarget(shown.data) && (
        <TextField
          label={t`Confirmation`}
          value={again}
          onInput={setAgain}
          hint={targetAgainText(ip)}
          fault={again.trim() === "" || again.trim() === ip ? null : t`This is another target.`}
          isRequired
        />
      )}
    </>
  );
  return { isRefused: isAnswered && shown.data.ban.state === "rejected", objection, view };
}

function refusal(text: string): Failure {
  return { kind: "refused", status: 0, text, body: null };
}

interface BanPreviewProps {
  /** The text in the field of the address. */
  readonly ip: string;
  readonly isComplete: boolean;
  /** null: no answer yet. */
  readonly shown: Answer<OrderPreviewWire> | null;
}

function BanPreview(props: BanPreviewProps) {
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
  const sentences = previewSentences(shown.data, serviceNow(), activeAttacks());
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
