/** Something that is read again and again while it is looked at: less often in a hidden tab, at once when it is seen again. */
import { effect, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Failure, read } from "./client.ts";
import { contact } from "./contact.ts";

export type Loaded<T> =
  | { readonly kind: "loading" }
  /** `atMs`: wall clock here, when it came. Kept while the service is out of reach: the shell says since when. */
  | { readonly kind: "ready"; readonly data: T; readonly atMs: number }
  | { readonly kind: "failed"; readonly failure: Failure };

/** One that is made anew for each reading is of a range of time that moves along. */
export type Path = string | (() => string);

/** In a hidden tab so many times the period. */
const HIDDEN_FACTOR = 6;

export class Resource<T> {
  readonly state = signal<Loaded<T>>({ kind: "loading" });
  readonly #path: Path;
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #stopWatching: (() => void) | null = null;
  /** Of the reading under way; an older one is not listened to any more. */
  #reading = 0;

  /** @param everyMs 0: once, and when it is asked for. */
  constructor(path: Path, everyMs: number) {
    this.#path = path;
    this.#everyMs = everyMs;
  }

  start(): void {
    if (this.#stopWatching !== null) return;
    const onSeen = () => {
      if (document.visibilityState === "visible") void this.refresh();
    };
    document.addEventListener("visibilitychange", onSeen);
    let wasLost = false;
    const stopEffect = effect(() => {
      const isLost = contact.value.kind === "lost";
      if (wasLost && !isLost) queueMicrotask(() => void this.refresh());
      wasLost = isLost;
    });
    this.#stopWatching = () => {
      document.removeEventListener("visibilitychange", onSeen);
      stopEffect();
    };
    void this.refresh();
  }

  stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#reading++;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** What was read was another caller's. */
  forget(): void {
    this.#reading++;
    this.state.value = { kind: "loading" };
  }

  async refresh(): Promise<void> {
    const reading = ++this.#reading;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const path = typeof this.#path === "string" ? this.#path : this.#path();
    const answer = await read<T>(path);
    if (reading !== this.#reading) return;
    if (answer.kind === "answer") this.state.value = { kind: "ready", data: answer.data, atMs: Date.now() };
    else if (answer.kind === "refused" || this.state.peek().kind !== "ready") {
      this.state.value = { kind: "failed", failure: answer };
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#everyMs === 0 || this.#stopWatching === null) return;
    const factor = document.visibilityState === "visible" ? 1 : HIDDEN_FACTOR;
    this.#timer = setTimeout(() => void this.refresh(), this.#everyMs * factor);
  }
}

/** As long as the component is there; another path, or another function that makes it, is another resource. */
export function useResource<T>(path: Path, everyMs: number): Resource<T> {
  const resource = useMemo(() => new Resource<T>(path, everyMs), [path, everyMs]);
  useEffect(() => {
    resource.start();
    return () => resource.stop();
  }, [resource]);
  return resource;
}

/** While something else is read, what was there before: a table stays where it is when its filter changes. */
export function useKept<T>(loaded: Loaded<T>): Loaded<T> {
  const kept = useRef(loaded);
  if (loaded.kind !== "loading") kept.current = loaded;
  return kept.current;
}
