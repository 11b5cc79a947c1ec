/** A message that says what the problem is and what to do. */
import type { ComponentChildren } from "preact";
import type { Failure } from "../api/client.ts";
import { t, tx } from "../language.ts";
import { failedTitle, failureText } from "../text/failure.ts";
import { Button } from "./button.tsx";

export type Tone = "info" | "ok" | "warn" | "danger";

interface CalloutProps {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ComponentChildren;
  /** Announced at once by screen readers; only for results of the user's action and for urgent messages. */
  readonly isAlert?: boolean;
}

export function Callout({ tone, title, children, isAlert }: CalloutProps) {
  return (
    <div class={`callout callout-${tone}`} role={isAlert === true ? "alert" : undefined}>
      {title !== undefined && <strong>{title}</strong>}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** Shown instead of empty data, with the reason why there is none. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** In place of rows, which would be those of another filter. */
export function WrongFilter({ what }: { readonly what: string }) {
  return (
    <Empty title={t`No ${what}: the filter is not complete`}>{t`What is missing or wrong is said at its field.`}</Empty>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return <p class="loading" role="status">{t`Reading ${what} …`}</p>;
}

/** For a list or chart whose data comes from the history. */
export function StorageOff({ what }: { readonly what: string }) {
  return (
    <Empty
      title={t`No ${what}: storage is off`}
    >{tx`Nothing is kept of the past. Set ${<code>storage.driver</code>} to ${<code>sqlite</code>} or ${<code>clickhouse</code>} and restart Floodwall.`}</Empty>
  );
}

interface FailedProps {
  /** Begins a sentence: `hosts`. */
  readonly what: string;
  readonly failure: Failure;
  readonly onRetry?: () => void;
}

/** A failed reading, which does not say that there is none of it. */
export function Failed({ what, failure, onRetry }: FailedProps) {
  return (
    <Callout tone="danger" title={failedTitle(what)}>
      <p>{failureText(failure)}</p>
      {onRetry !== undefined && <Button onClick={onRetry}>{t`Try again`}</Button>}
    </Callout>
  );
}
