/** The page frame: sign-in, navigation, and the banners that all views show. */
import { useEffect } from "preact/hooks";
import type { SessionWire } from "../src/http/wire/session.ts";
import { attacks } from "./api/live.ts";
import { startRunning } from "./api/running.ts";
import { session, signOut } from "./api/session.ts";
import { Banners, LostContact } from "./banners.tsx";
import { LiveRegion } from "./live-region.tsx";
import { Button } from "./parts/button.tsx";
import { Empty } from "./parts/callout.tsx";
import { Icon } from "./parts/icon.tsx";
import { now } from "./parts/moment.tsx";
import { Outcome } from "./parts/outcome.tsx";
import { linkTo, place } from "./router.ts";
import { SignIn } from "./sign-in.tsx";
import { zonedTime } from "./text/format/times.ts";
import { chooseTheme, type Theme, theme } from "./theme.ts";
import type { View } from "./view.ts";
import { VIEWS } from "./views/all.tsx";

export function App() {
  const { value } = session;
  switch (value.kind) {
    case "unknown":
      return (
        <main class="sign-in">
          <LostContact />
          <p role="status">Connecting to Floodwall …</p>
        </main>
      );
    case "signed_out":
      return <SignIn why={value.why} />;
    case "signed_in":
      return <Shell key={JSON.stringify(value.who)} who={value.who} />;
    default:
      return value satisfies never;
  }
}

function Shell({ who }: { readonly who: SessionWire }) {
  useEffect(startRunning, []);
  const views = VIEWS.filter(({ isForUnscopedOnly }) => who.unscoped || isForUnscopedOnly !== true);
  const { steps } = place.value;
  const view = views.find(({ name }) => name === (steps[0] ?? ""));
  useTitle(view);
  return (
    <div class="shell">
      <button type="button" class="skip button" onClick={focusView}>
        Skip to the view
      </button>
      <Head who={who} />
      <Navigation views={views} current={view} />
      <main id="content" class="content">
        <Banners who={who} />
        <h1 tabIndex={-1}>{view?.title ?? "Nothing here"}</h1>
        {view === undefined ? (
          <Empty title="This page has no such view, or your token does not show it.">
            <a href={linkTo([])}>Go to the overview</a>
          </Empty>
        ) : (
          <view.Content steps={steps.slice(1)} />
        )}
      </main>
      <LiveRegion />
      <Outcome />
    </div>
  );
}

function Head({ who }: { readonly who: SessionWire }) {
  return (
    <header class="head">
      <a class="brand" href={linkTo([])}>
        Floodwall
      </a>
      <time class="clock number">{zonedTime(now.value)}</time>
      <div class="head-end">
        <ThemeButton />
        <span class="who">
          {who.open ? "open API" : who.name} · {who.role}
          {who.tenant !== undefined && ` · tenant ${who.tenant}`}
        </span>
        {!who.open && (
          <Button look="quiet" label="Sign out" onClick={() => signOut()}>
            <Icon name="leave" />
          </Button>
        )}
      </div>
    </header>
  );
}

const THEMES = {
  system: { next: "light", icon: "screen", label: "Theme: as the system. Choose light" },
  light: { next: "dark", icon: "sun", label: "Theme: light. Choose dark" },
  dark: { next: "system", icon: "moon", label: "Theme: dark. Choose as the system" },
} as const satisfies Readonly<Record<Theme, object>>;

function ThemeButton() {
  const { next, icon, label } = THEMES[theme.value];
  return (
    <Button look="quiet" label={label} onClick={() => chooseTheme(next)}>
      <Icon name={icon} />
    </Button>
  );
}

interface NavigationProps {
  readonly views: readonly View[];
  readonly current: View | undefined;
}

function Navigation({ views, current }: NavigationProps) {
  const { value } = attacks;
  const active = value.kind === "ready" ? value.data.active.length : 0;
  return (
    <nav class="nav" aria-label="Views">
      {views.map((view) => (
        <a
          key={view.name}
          href={linkTo(view.name === "" ? [] : [view.name])}
          aria-current={view === current ? "page" : undefined}
        >
          <Icon name={view.icon} />
          <span>{view.title}</span>
          {view.name === "attacks" && active > 0 && <span class="nav-count">{active}</span>}
        </a>
      ))}
    </nav>
  );
}

/** Sets the title of the browser tab. When the view changes, the focus moves so that screen readers announce it. */
function useTitle(view: View | undefined): void {
  const { value } = attacks;
  const active = value.kind === "ready" ? value.data.active.length : 0;
  useEffect(() => {
    document.title = `${active > 0 ? `(${active}) ` : ""}${view?.title ?? "Nothing here"} – Floodwall`;
  }, [view, active]);
  useEffect(() => {
    // Not when the page is opened: it starts at its top.
    if (document.activeElement !== document.body) focusView();
    // On a narrow screen the navigation is a strip that scrolls.
    document.querySelector(".nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view]);
}

function focusView(): void {
  document.querySelector<HTMLElement>("main h1")?.focus();
}
