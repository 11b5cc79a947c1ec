/** A message that says what the problem is and what to do. */
import type { ComponentChildren } from "preact";
import type { Failure } from "../api/client.ts";
import { Button } from "./button.tsx";

export type Tone = "info" | "ok" | "warn" | "danger";

export interface CalloutProps {
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
  return <Empty title={`No ${what}: the filter is not complete`}>What is missing or wrong is said at its field.</Empty>;
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Reading {what} …
    </p>
  );
}

/** For a list or chart whose data comes from the history. */
export function StorageOff({ what }: { readonly what: string }) {
  return (
    <Empty title={`No ${what}: storage is off`}>
      Nothing is kept of the past. Set <code>storage.driver</code> to <code>sqlite</code> or <code>clickhouse</code> and
      restart Floodwall.
    </Empty>
  );
}

export interface FailedProps {
  readonly what: string;
  readonly failure: Failure;
  readonly onRetry?: () => void;
}

export function Failed({ what, failure, onRetry }: FailedProps) {
  return (
    <Callout tone="danger" title={`No ${what}`}>
      <p>{failureText(failure)}</p>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Callout>
  );
}

/** The service's message, and what to do about it. */
export function failureText(failure: Failure): string {
  if (failure.kind === "unreachable") return "Floodwall does not answer. The page tries again.";
  const { status, text } = failure;
  switch (status) {
    case 401:
      return `${text}. Sign in again.`;
    case 403:
      return `${text}. Ask the administrator of Floodwall for a token with the right to do this.`;
    case 429:
      return `${text}. The page tries again.`;
    case 502:
      return `${text}. The database does not answer: see Floodwall's log.`;
    case 503:
      return `${text}. If this lasts, see Floodwall's log.`;
    default:
      return text;
  }
}
