/** The reasons and notes of orders: what callers write for people. */
import { hasUnshown } from "../../audit/shown-text.ts";

/** The fault of the text; null: none. @param field its name in the request. */
export function plainTextFault(field: string, text: string, charactersMax: number): string | null {
  if (text.length > charactersMax && Array.from(text).length > charactersMax) {
    return `${field} has more than ${charactersMax} characters`;
  }
  return hasUnshown(text) ? `${field} has control characters, or ones that turn the direction of writing` : null;
}
