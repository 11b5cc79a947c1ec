/** Keys that go to a view, in the whole dashboard. They do nothing while the user types or a dialog is open. */
import { useEffect } from "preact/hooks";
import { linkTo } from "./router.ts";
import { keyStep } from "./text/view-keys.ts";

/** @param names of the views that the caller may see. */
export function useViewKeys(names: readonly string[]): void {
  const list = names.join();
  useEffect(() => {
    let pressedMs: number | null = null;
    const onKey = (event: KeyboardEvent) => {
      if (!isPlainKey(event) || document.querySelector("dialog[open]") !== null) return;
      const step = keyStep(pressedMs, { key: event.key, atMs: event.timeStamp });
      pressedMs = step.pressedMs;
      if (step.view === null || !names.includes(step.view)) return;
      event.preventDefault();
      location.hash = linkTo(step.view === "" ? [] : [step.view]);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [list]);
}

/** Neither with a modifier nor typed into a field. */
export function isPlainKey({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  const isTyping = target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
  return !ctrlKey && !metaKey && !altKey && !isTyping;
}
