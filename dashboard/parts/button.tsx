/** A button: says what it does, and that it is doing it. */
import type { ComponentChildren } from "preact";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  /** Default: `plain`. `primary` is what most come for; `danger` changes what happens to traffic. */
  readonly look?: "plain" | "primary" | "danger" | "quiet";
  /** Where the words alone do not say it: `Unban 203.0.113.7`. */
  readonly label?: string;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** Of a switch: whether it is on. */
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
      {children}
    </button>
  );
}
