/** The views of the explorer that the user has saved, in this browser alone. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { linkTo, place } from "../../router.ts";
import { parseSaved, type SavedView, saveFault, withSaved } from "../../text/saved-views.ts";

const KEY = "floodwall.explorer.views";
const saved = signal(parseSaved(localStorage.getItem(KEY)));

function keep(views: readonly SavedView[]): void {
  if (views.length === 0) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, JSON.stringify(views));
  saved.value = views;
}

export function SavedViews() {
  const [name, setName] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const save = () => {
    const wrong = saveFault(saved.value, name);
    setFault(wrong);
    if (wrong !== null) return;
    keep(withSaved(saved.value, { name, query: String(place.value.query) }));
    setName("");
  };
  return (
    <details>
      <summary>{t`Saved views (${saved.value.length})`}</summary>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextField label={t`Name`} value={name} onInput={setName} fault={fault} hint={t`Kept in this browser alone.`} />
        <Button type="submit">{t`Save this view`}</Button>
      </form>
      <ul class="filters saved-views">
        {saved.value.map((view) => (
          <li key={view.name}>
            <a href={linkTo(["explorer"], Object.fromEntries(new URLSearchParams(view.query)))}>{view.name}</a>{" "}
            <Button
              look="quiet"
              label={t`Remove the view ${view.name}`}
              onClick={() => keep(saved.value.filter((other) => other !== view))}
            >
              ×
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}
