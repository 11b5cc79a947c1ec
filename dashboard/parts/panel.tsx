/** A part of a view with a heading: a region that a screen reader can go to. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Buttons and choices beside the heading. */
  readonly actions?: ComponentChildren;
  readonly isWide?: boolean;
}

export function Panel({ title, children, actions, isWide }: PanelProps) {
  const id = useId();
  return (
    <section class={`panel${isWide === true ? " panel-wide" : ""}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

/** Names and values, one line each. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren] | null)[] }) {
  return (
    <dl class="facts">
      {facts.map((fact) =>
        fact === null ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
