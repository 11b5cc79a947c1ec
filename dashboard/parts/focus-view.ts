/** Moves the focus to the title of the view: screen readers go on there. */
export function focusView(options?: FocusOptions): void {
  document.querySelector<HTMLElement>("main h1")?.focus(options);
}
