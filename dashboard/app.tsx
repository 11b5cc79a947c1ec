/** The page frame: sign-in, navigation, and the banners that all views show. */
import { useEffect, useRef } from "preact/hooks";
import type { SessionWire } from "../src/http/wire/session.ts";
import { silentSinceMs } from "./api/contact.ts";
import { attacks } from "./api/live.ts";
import { startRunning, status } from "./api/running.ts";
import { session, signOutAll } from "./api/session.ts";
import { Banners, LostContact } from "./banners.tsx";
import { SharedPage } from "./guest-page.tsx";
import { t } from "./language.ts";
import { LiveRegion } from "./live-region.tsx";
import { Badge } from "./parts/badge.tsx";
import { Button } from "./parts/button.tsx";
import { Empty } from "./parts/callout.tsx";
import { OpenDialog } from "./parts/dialog.tsx";
import { focusView } from "./parts/focus-view.ts";
import { Icon } from "./parts/icon.tsx";
import { LanguageChoice } from "./parts/language-choice.tsx";
import { now } from "./parts/moment.tsx";
import { Outcome } from "./parts/outcome.tsx";
import { linkTo, place } from "./router.ts";
import { SearchButton } from "./search-dialog.tsx";
import { SignIn } from "./sign-in.tsx";
import { zonedTime } from "./text/format/times.ts";
import { ROLES } from "./text/interface-words.ts";
import { byUrgency } from "./text/mitigation.ts";
import { dryRunText } from "./text/settings.ts";
import { titleOf } from "./text/title.ts";
import { chooseTheme, type Theme, theme } from "./theme.ts";
import type { View } from "./view.ts";
import { useViewKeys } from "./view-keys.ts";
import { VIEWS } from "./views/all.tsx";
import { Wall } from "./wall.tsx";

export function App() {
  const { value } = session;
  const [view, secret] = place.value.steps;
  if (view === "shared" && secret !== undefined) return <SharedPage secret={secret} />;
  switch (value.kind) {
    case "unknown":
      return (
        <main class="sign-in">
          <LostContact />
          <p role="status">{t`Connecting to Floodwall …`}</p>
        </main>
      );
    case "signed_out":
      return <SignIn why={value.why} />;
    case "signed_in":
      return <SignedIn key={JSON.stringify(value.who)} who={value.who} />;
    default:
      return value satisfies never;
  }
}

/** The readings go on when the user goes to the wall display and back. */
function SignedIn({ who }: { readonly who: SessionWire }) {
  useEffect(startRunning, []);
  return place.value.steps[0] === "wall" ? <Wall /> : <Shell who={who} />;
}

function Shell({ who }: { readonly who: SessionWire }) {
  const views = VIEWS.filter(({ isForUnscopedOnly }) => who.unscoped || isForUnscopedOnly !== true);
  const { steps } = place.value;
  const view = viewAt(views, steps[0] ?? "");
  useTitle(view);
  useViewKeys([...views.map(({ name }) => name), "wall"]);
  return (
    <div class="shell">
      <button type="button" class="skip button" onClick={() => focusView()}>{t`Skip to the view`}</button>
      <Head who={who} views={views} />
      <Navigation views={views} current={view} />
      <main id="content" class="content">
        <Banners who={who} />
        <h1 tabIndex={-1}>{view?.title ?? t`Nothing here`}</h1>
        {view === undefined ? (
          <Empty title={t`This page has no such view, or your token does not show it.`}>
            <a href={linkTo([])}>{t`Go to the overview`}</a>
          </Empty>
        ) : (
          <view.Content steps={steps.slice(1)} />
        )}
      </main>
      <LiveRegion />
      <OpenDialog />
    </div>
  );
}

function viewAt(views: readonly View[], step: string): View | undefined {
  return views.find(({ name, formerNames = [] }) => name === step || formerNames.includes(step));
}

interface HeadProps {
  readonly who: SessionWire;
  readonly views: readonly View[];
}

function Head({ who, views }: HeadProps) {
  return (
    <header class="head">
      <a class="brand" href={linkTo([])}>
        Floodwall
      </a>
      <Mode />
      <time class="clock number">{zonedTime(now.value)}</time>
      <Outcome />
      <div class="head-end">
        <SearchButton views={views} />
        <LanguageChoice />
        <ThemeButton />
        <span class="who">
          {who.open ? t`no sign-in` : who.name} · {ROLES[who.role]}
          {who.tenant !== undefined && t` · tenant ${who.tenant}`}
        </span>
        {!who.open && (
          <Button look="quiet" label={t`Sign out`} onClick={signOutAll}>
            <Icon name="leave" />
          </Button>
        )}
      </div>
    </header>
  );
}

/** Whether what is decided is carried out. */
function Mode() {
  const { value } = status.state;
  if (value.kind !== "ready") return null;
  // The overview's line says it.
  if (place.value.steps.length === 0 && !value.data.dry_run) return null;
  if (silentSinceMs.value !== null) return <Badge tone="none">{t`not known`}</Badge>;
  if (value.data.dry_run) return <Badge tone="warn">{t`DRY\u00a0RUN`}</Badge>;
  const isInPart = value.data.hostgroups.some((group) => dryRunText(group) !== "");
  return isInPart ? <Badge tone="warn">{t`LIVE\u00a0IN\u00a0PART`}</Badge> : <Badge tone="ok">{t`LIVE`}</Badge>;
}

const THEMES = {
  system: { next: "light", icon: "screen", label: t`Theme: as the system. Choose light` },
  light: { next: "dark", icon: "sun", label: t`Theme: light. Choose dark` },
  dark: { next: "system", icon: "moon", label: t`Theme: dark. Choose as the system` },
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
    <nav class="nav" aria-label={t`Views`}>
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
  const { active, recent } = value.kind === "ready" ? value.data : { active: [], recent: [] };
  const steps = place.value.steps.slice(1);
  const isAttack = view?.name === "attacks" && steps[0] !== undefined;
  const title = titleOf({
    view: view?.title ?? t`Nothing here`,
    steps: view === undefined ? [] : steps,
    active: active.toSorted(byUrgency),
    attack: isAttack ? [...active, ...recent].find(({ id }) => id === steps[0]) : undefined,
  });
  useEffect(() => {
    document.title = title;
  }, [title]);
  const shown = useRef<View | undefined | null>(null);
  useEffect(() => {
    // Not when the page is opened: it starts at its top.
    if (shown.current !== null && shown.current !== view) focusView({ preventScroll: true });
    shown.current = view;
  }, [view]);
}
