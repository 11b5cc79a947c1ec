/** The language of the page, chosen for this browser. */
import { LANGUAGE_KEY, LANGUAGES, language, t } from "../language.ts";

export function LanguageChoice() {
  return (
    <select
      class="language"
      aria-label={t`Language`}
      value={language}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {Object.entries(LANGUAGES).map(([code, name]) => (
        <option key={code} value={code} lang={code}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The page starts again, so that all texts are read again. */
function choose(chosen: string): void {
  localStorage.setItem(LANGUAGE_KEY, chosen);
  location.reload();
}
