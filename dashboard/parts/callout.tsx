/** A message in its place: what is the matter, and what to do. */
import type { ComponentChildren } from "preact";
import type { Failure } from "../api/client.ts";
import { Button } from "./button.tsx";

export type Tone = "info" | "ok" | "warn" | "danger";

export interface CalloutProps {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ComponentChildren;
  /** Read out at once; only for what the reader has just brought about, or must know now. */
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

/** Nothing to show, and why that may be: good news, or something to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Reading {what} …
    </p>
  );
}

/** Of a list or chart that comes from the history. */
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

/** The service's own words, and what to do about it. */
export function failureText(failure: Failure): string {
  if (failure.kind === "unreachable") return "Floodwall does not answer. It is asked again by itself.";
  const { status, text } = failure;
  switch (status) {
    case 401:
      return `${text}. Sign in again.`;
    case 403:
      return `${text}. Ask whoever runs Floodwall for a token that may.`;
    case 429:
      return `${text}. It is asked again by itself.`;
    case 502:
      return `${text}. The database does not answer: see Floodwall's log.`;
    case 503:
      return `${text}. See Floodwall's log when this lasts.`;
    default:
      return text;
  }
}
