/** The links that people without a token have, with the end of each. */
import type { SharedLinksWire, SharedLinkWire } from "../../../src/http/wire/guest-link.ts";
import { command } from "../../api/client.ts";
import { SHARED_LINKS_PATH, useSharedLinks } from "../../api/guest-links.ts";
import { lookAt } from "../../api/look.ts";
import { t } from "../../language.ts";
import { momentColumn, textColumn } from "../../parts/columns.tsx";
import { CommandButton } from "../../parts/command-button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { Panel } from "../../parts/panel.tsx";

export function SharedPanel() {
  const { links, refresh } = useSharedLinks();
  if (links === null || links.links.length === 0) return null;
  const columns: readonly Column<SharedLinkWire>[] = [
    textColumn(t`Shows`, subjectOf),
    momentColumn(t`Since`, ({ created_at: at }) => at, "medium"),
    momentColumn(t`Until`, ({ expires_at: at }) => at),
    textColumn(t`By`, ({ by }) => by, "medium"),
    { key: "actions", title: t`Actions`, cell: (link) => <EndButton link={link} onDone={refresh} /> },
  ];
  return (
    <Panel title={t`Shared links`} isWide>
      {!links.allowed && <p>{t`They show nothing now: api.shared_links is off.`}</p>}
      <DataTable label={t`Shared links`} columns={columns} rows={links.links} rowKey={({ id }) => id} />
    </Panel>
  );
}

function EndButton({ link, onDone }: { readonly link: SharedLinkWire; readonly onDone: () => void }) {
  const done = () => {
    showOutcome(t`The link has ended.`);
    onDone();
  };
  return (
    <CommandButton<null>
      label={t`End the link of ${subjectOf(link)}`}
      text={t`End …`}
      title={t`End the link?`}
      verb={t`End`}
      asksReason
      act={(given) => command(`${SHARED_LINKS_PATH}/${encodeURIComponent(link.id)}`, given, "DELETE")}
      look={lookAt<SharedLinksWire>(SHARED_LINKS_PATH, ({ links }) => links.every(({ id }) => id !== link.id))}
      onFound={onDone}
      onDone={done}
    >
      <p>{t`It shows nothing any more.`}</p>
    </CommandButton>
  );
}

function subjectOf({ attack, incident, tenant, hostgroup }: SharedLinkWire): string {
  if (attack !== undefined) return t`attack ${attack}`;
  if (incident !== undefined) return t`incident ${incident}`;
  return tenant === undefined ? t`hostgroup ${hostgroup}` : t`tenant ${tenant}`;
}
