/** The search of the whole dashboard, and the list of keys: Ctrl-K and ? open them, in every view. */
import { useEffect, useState } from "preact/hooks";
import { attacks, bans } from "./api/live.ts";
import { useNamed } from "./api/name-lists.ts";
import { t } from "./language.ts";
import { Button } from "./parts/button.tsx";
import { Dialog } from "./parts/dialog.tsx";
import { TextField } from "./parts/field.tsx";
import { Icon } from "./parts/icon.tsx";
import { Facts } from "./parts/panel.tsx";
import { linkTo } from "./router.ts";
import { type SearchHit, searchHits } from "./text/search.ts";
import { letterOf } from "./text/view-keys.ts";
import type { View } from "./view.ts";
import { isPlainKey } from "./view-keys.ts";

type Open = "search" | "keys" | null;

export function SearchButton({ views }: { readonly views: readonly View[] }) {
  const [open, setOpen] = useState<Open>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const wanted = wantedBy(event);
      if (wanted === null || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      setOpen(wanted);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const close = () => setOpen(null);
  return (
    <>
      <Button look="quiet" label={t`Search (Ctrl K)`} onClick={() => setOpen("search")}>
        <Icon name="search" />
      </Button>
      {open === "search" && <Search views={views} onClose={close} />}
      {open === "keys" && <Keys views={views} onClose={close} />}
    </>
  );
}

function wantedBy(event: KeyboardEvent): Open {
  const { key, ctrlKey, metaKey, altKey } = event;
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k") return "search";
  return key === "?" && isPlainKey(event) ? "keys" : null;
}

interface SearchProps {
  readonly views: readonly View[];
  readonly onClose: () => void;
}

function Search({ views, onClose }: SearchProps) {
  const [text, setText] = useState("");
  const { active, recent } = attacks.value.kind === "ready" ? attacks.value.data : { active: [], recent: [] };
  const held = bans.value.kind === "ready" ? bans.value.data : [];
  const { things, missing } = useNamed();
  const hits = searchHits(text, { active, recent, bans: held, views, named: things });
  const go = (hit: SearchHit | undefined) => {
    if (hit === undefined) return;
    onClose();
    location.hash = linkTo(hit.steps, hit.query);
  };
  /** The arrow keys go through the field and the results. */
  const step = (event: KeyboardEvent) => {
    // Before the browser, which clears a search field first.
    if (event.key === "Escape") {
      event.preventDefault();
      onClose();
      return;
    }
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const form = event.currentTarget;
    if (by === 0 || !(form instanceof HTMLElement)) return;
    event.preventDefault();
    const stops = [...form.querySelectorAll<HTMLElement>("input, a")];
    const at = stops.indexOf(document.activeElement as HTMLElement);
    stops[Math.min(stops.length - 1, Math.max(0, at + by))]?.focus();
  };
  return (
    <Dialog title={t`Search`} onClose={onClose}>
      <form
        onKeyDown={step}
        onSubmit={(event) => {
          event.preventDefault();
          go(hits[0]);
        }}
      >
        <TextField
          label={t`Address, name, or part of one`}
          type="search"
          value={text}
          onInput={setText}
          placeholder="203.0.113.7"
        />
        <p class="muted" role="status">
          {text.trim() === ""
            ? t`Finds addresses, customers, hostgroups, networks (AS), zones, rules, sets, profiles, neighbors, nodes and views.`
            : t`${hits.length} found`}
          {missing.length > 0 && t`. Not read: ${missing.join(", ")}.`}
        </p>
        <ul class="hits">
          {hits.map((hit) => (
            <li key={`${hit.title} ${linkTo(hit.steps, hit.query)}`}>
              <a href={linkTo(hit.steps, hit.query)} onClick={onClose}>
                {hit.title}
              </a>
              <span class="muted">{hit.detail}</span>
            </li>
          ))}
        </ul>
        <div class="dialog-buttons">
          <Button onClick={onClose}>{t`Close`}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function Keys({ views, onClose }: SearchProps) {
  return (
    <Dialog title={t`Keys`} onClose={onClose}>
      <Facts
        facts={[
          [t`Ctrl K`, t`search for an address, a name or a view`],
          ["↓ ↑", t`through what was found`],
          [t`Enter`, t`open the first that was found, or do what the button says`],
          [t`Tab`, t`to the next link, button or field`],
          [t`Esc`, t`close what is open`],
          ["?", t`these keys`],
          ...views.flatMap(({ name, title }) => {
            const letter = letterOf(name);
            return letter === undefined ? [] : [[`g ${letter}`, title] as const];
          }),
          ["g w", t`Wall display (Esc goes back)`],
        ]}
      />
      <div class="dialog-buttons">
        <Button onClick={onClose}>{t`Close`}</Button>
      </div>
    </Dialog>
  );
}
