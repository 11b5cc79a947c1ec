/** The browsers in which a user has signed in by the identity provider, with the end of each. */
import type { BrowserSessionsWire, BrowserSessionWire } from "../../../src/http/wire/sign-in.ts";
import { command } from "../../api/client.ts";
import { lookAt } from "../../api/look.ts";
import { useResource } from "../../api/resource.ts";
import { signOutAll } from "../../api/session.ts";
import { t } from "../../language.ts";
import { momentColumn, textColumn } from "../../parts/columns.tsx";
import { CommandButton } from "../../parts/command-button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ROLES, wordOf } from "../../text/interface-words.ts";

const PATH = "/api/v1/sign-ins";

export function BrowsersPanel() {
  const read = useResource<BrowserSessionsWire>(PATH, 0);
  const { value } = read.state;
  if (value.kind !== "ready" || value.data.sessions.length === 0) return null;
  const columns: readonly Column<BrowserSessionWire>[] = [
    textColumn(t`User`, ({ name, current }) => (current ? t`${name}, this browser` : name)),
    textColumn(t`Role`, ({ role }) => wordOf(ROLES, role), "medium"),
    textColumn(t`Tenant`, ({ tenant }) => tenant, "medium"),
    momentColumn(t`Since`, ({ created_at: at }) => at, "medium"),
    momentColumn(t`Last seen`, ({ seen_at: at }) => at, "medium"),
    momentColumn(t`Until`, ({ expires_at: at }) => at),
    {
      key: "actions",
      title: t`Actions`,
      cell: (browser) => <EndButton browser={browser} onDone={() => void read.refresh()} />,
    },
  ];
  return (
    <Panel title={t`Signed-in browsers`} isWide>
      <DataTable label={t`Signed-in browsers`} columns={columns} rows={value.data.sessions} rowKey={({ id }) => id} />
    </Panel>
  );
}

/** null: the disk has taken it. */
type Ended = { readonly saved?: false } | null;

function EndButton({ browser, onDone }: { readonly browser: BrowserSessionWire; readonly onDone: () => void }) {
  const { id, name, current } = browser;
  const done = (ended: Ended) => {
    showOutcome(ended?.saved === false ? t`ended, not on disk yet` : t`The browser is signed out.`);
    if (current) signOutAll();
    else onDone();
  };
  return (
    <CommandButton<Ended>
      label={t`Sign out a browser of ${name}`}
      text={t`Sign out …`}
      title={t`Sign the browser out?`}
      verb={t`Sign out`}
      act={() => command(`${PATH}/${encodeURIComponent(id)}`, {}, "DELETE")}
      look={lookAt<BrowserSessionsWire>(PATH, ({ sessions }) => sessions.every((other) => other.id !== id))}
      onFound={onDone}
      onDone={done}
    >
      <p>{t`Its user must sign in again.`}</p>
    </CommandButton>
  );
}
