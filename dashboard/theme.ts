/** Light or dark theme: the system's, until the user chooses another in this browser. */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "floodwall.theme";

export const theme = signal<Theme>(parse(localStorage.getItem(KEY)));

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

function parse(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}
