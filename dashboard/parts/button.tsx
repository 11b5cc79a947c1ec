/** A button that shows what it does, and that it is busy. */
import type { ComponentChildren } from "preact";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  /** Default: `plain`. `primary` is the main action of a view; `danger` changes what happens to traffic. */
  readonly look?: "plain" | "primary" | "danger" | "quiet";
  /** Accessible name where the visible text is not enough: `Unban 203.0.113.7`. */
  readonly label?: string;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** For toggle buttons: whether the button is on. */
  readonly isPressed?: boolean;
  readonly type?: "button" | "submit";
}

export function Button({ children, onClick, look = "plain", label, isBusy, isDisabled, isPressed, type }: ButtonProps) {
  return (
    <button
      type={type ?? "button"}
      class={`button button-${look}`}
      onClick={onClick}
      aria-label={label}
      aria-pressed={isPressed}
      aria-busy={isBusy === true}
      disabled={isDisabled === true || isBusy === true}
    >
      {typeof children === "string" ? children.replace(" …", "\u00a0…") : children}
    </button>
  );
}
