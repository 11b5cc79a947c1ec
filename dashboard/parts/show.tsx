/** Shows data by its state: loading, failed, or ready. */
import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/resource.ts";
import { Failed, Loading } from "./callout.tsx";

interface ShowProps<T> {
  readonly loaded: Loaded<T>;
  /** Completes the sentences "Reading …" and "No …". */
  readonly what: string;
  readonly onRetry?: () => void;
  readonly children: (data: T) => ComponentChildren;
}

export function Show<T>({ loaded, what, onRetry, children }: ShowProps<T>) {
  switch (loaded.kind) {
    case "loading":
      return <Loading what={what} />;
    case "failed":
      return <Failed what={what} failure={loaded.failure} {...(onRetry === undefined ? {} : { onRetry })} />;
    case "ready":
      return <>{children(loaded.data)}</>;
    default:
      return loaded satisfies never;
  }
}
