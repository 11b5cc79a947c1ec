/** Reloads the configuration file and shows the result: the values in force now, or the errors of the file. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { AuditWire } from "../../../src/http/wire/audit.ts";
import type { ReloadPreviewWire, ReloadWire } from "../../../src/http/wire/reload.ts";
import { type Answer, command, type Failure } from "../../api/client.ts";
import { serviceNow } from "../../api/contact.ts";
import { lookAt } from "../../api/look.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Callout } from "../../parts/callout.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Panel } from "../../parts/panel.tsx";
import { auditPath } from "../../text/audit.ts";
import { failureText } from "../../text/failure.ts";
import { rateOf } from "../../text/format/numbers.ts";
import { zonedTime } from "../../text/format/times.ts";
import { counted } from "../../text/format/words.ts";
import { isAudited } from "../../text/order-proof.ts";
import { said } from "../../text/service-words.ts";
import { problemLines } from "../../text/settings.ts";

const AN_HOUR = { kind: "last", seconds: 3600 } as const;

interface ReloadPanelProps {
  /** Keys whose changes take effect at the next restart. */
  readonly needsRestart: readonly string[];
  readonly mayReload: boolean;
  readonly onReloaded: () => void;
}

interface Result {
  readonly answer: Answer<ReloadWire>;
  readonly atMs: number;
}

export function ReloadPanel({ needsRestart, mayReload, onReloaded }: ReloadPanelProps) {
  const [isAsking, setAsking] = useState(false);
  const [isRead, setRead] = useState(false);
  const [result, setResult] = useState<Result | null>(null);
  const sinceMs = useRef(0);
  const ask = () => {
    setRead(false);
    setAsking(true);
  };
  return (
    <Panel title={t`Configuration`} isWide actions={mayReload && <Button onClick={ask}>{t`Reload …`}</Button>}>
      <p>{t`Change the configuration in its file, on the machine of Floodwall. A reload puts the file in force; a file with a fault changes nothing.`}</p>
      {needsRestart.length > 0 && (
        <Callout tone="warn" title={t`Waiting for a restart`}>
          <p>{t`These keys were changed in the file and keep their old values until Floodwall is restarted:`}</p>
          <ul class="plain-list">
            {needsRestart.map((key) => (
              <li key={key}>
                <code>{key}</code>
              </li>
            ))}
          </ul>
        </Callout>
      )}
      {result !== null && <Outcome result={result} />}
      {isAsking && (
        <Confirm<Result>
          title={t`Reload the configuration?`}
          verb={t`Reload`}
          asksReason
          isWrong={!isRead}
          act={async (given) => {
            sinceMs.current = serviceNow();
            const answer = await command<ReloadWire>("/api/v1/config/reload", given);
            if (answer.kind === "unreachable") return answer;
            // The errors are shown in the view, which has room for them.
            return { kind: "answer", data: { answer, atMs: Date.now() } };
          }}
          look={lookAt<AuditWire>(
            () => auditPath({ action: "config_reload", target: null, span: AN_HOUR }, serviceNow()),
            ({ events }) => isAudited("config_reload", sinceMs.current, events),
          )}
          onFound={onReloaded}
          onDone={(done) => {
            setResult(done);
            onReloaded();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{t`The file is read and checked. If it has no errors, it takes effect at once, also for bans and thresholds.`}</p>
          <Preview onRead={() => setRead(true)} />
        </Confirm>
      )}
    </Panel>
  );
}

/** The changes of a reload, read when the dialog opens. */
function Preview({ onRead }: { readonly onRead: () => void }) {
  const [answer, setAnswer] = useState<Answer<ReloadPreviewWire> | null>(null);
  useEffect(() => {
    let isGone = false;
    void command<ReloadPreviewWire>("/api/v1/config/reload/preview").then((read) => {
      // The dialog may be open again, and still reading.
      if (isGone) return;
      setAnswer(read);
      onRead();
    });
    return () => {
      isGone = true;
    };
  }, []);
  return (
    <div role="status">
      {answer === null ? (
        <p>{t`Reading what it changes …`}</p>
      ) : answer.kind === "answer" ? (
        <Changes preview={answer.data} />
      ) : (
        <Refused failure={answer} />
      )}
    </div>
  );
}

function Changes({ preview }: { readonly preview: ReloadPreviewWire }) {
  const { changes, needs_restart: needsRestart, ends_bans: ended, ends_bans_count: count } = preview;
  const { announces = [], withdraws = [] } = preview;
  if (changes.length === 0 && needsRestart.length === 0)
    return <p>{t`Nothing changes: what the file says is in force.`}</p>;
  return (
    <>
      <p>{changes.length === 0 ? t`Nothing changes at once.` : t`It changes:`}</p>
      <ul class="plain-list">
        {changes.map(({ section, details }) => (
          <li key={section}>
            <code>{section}</code>
            {details.length === 1 && `: ${details.join()}`}
            {details.length > 1 && (
              <ul class="plain-list">
                {details.map((detail) => (
                  <li key={detail}>{detail}</li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {count > 0 && (
        <Callout tone="warn" title={t`It ends ${counted(count, "ban")}`}>
          {ended.map(({ prefix, reason }) => `${prefix} (${said(reason)})`).join(", ")}
          {count > ended.length && ", …"}
        </Callout>
      )}
      <RouteList title={t`It announces at once:`} routes={announces} more={preview.more_announced ?? 0} />
      <RouteList title={t`It withdraws at once:`} routes={withdraws} more={preview.more_withdrawn ?? 0} />
      <HookCalls diversions={preview.diversions ?? {}} />
      {needsRestart.length > 0 && <p>{t`Only after a restart: ${needsRestart.join(", ")}.`}</p>}
    </>
  );
}

function HookCalls({ diversions }: { readonly diversions: NonNullable<ReloadPreviewWire["diversions"]> }) {
  const { begins = [], ends = [], renews = [], moves = [], strands = [] } = diversions;
  return (
    <>
      <RouteList title={t`The scrubbing hook is called to divert:`} routes={begins} more={0} />
      <RouteList title={t`The scrubbing hook is called to end the diversion of:`} routes={ends} more={0} />
      <RouteList title={t`The diversion is ended and begun again of:`} routes={renews} more={0} />
      <RouteList title={t`Another hook is called for the diversion of:`} routes={moves} more={0} />
      {strands.length > 0 && (
        <Callout tone="warn" title={t`No hook is left that could end these diversions`}>
          {strands.join(", ")}
        </Callout>
      )}
    </>
  );
}

interface RouteListProps {
  readonly title: string;
  readonly routes: readonly string[];
  /** Number of those that are not listed. */
  readonly more: number;
}

function RouteList({ title, routes, more }: RouteListProps) {
  if (routes.length === 0) return null;
  return (
    <>
      <p>{title}</p>
      <ul class="plain-list">
        {routes.map((route) => (
          <li key={route} class="mono">
            {route}
          </li>
        ))}
        {more > 0 && <li>{t`and ${more} more`}</li>}
      </ul>
    </>
  );
}

function Outcome({ result: { answer, atMs } }: { readonly result: Result }) {
  if (answer.kind !== "answer") return <Refused failure={answer} />;
  const { dry_run: isDry, thresholds } = answer.data;
  const { pps, mbps, flows_per_sec: flows } = thresholds;
  return (
    <Callout
      tone="ok"
      title={t`Reloaded at ${zonedTime(atMs)}`}
      isAlert
    >{t`Dry run is ${isDry ? t`on` : t`off`}. Thresholds of hosts without a group: ${rateOf("pps", pps)}, ${rateOf("mbps", mbps)}, ${rateOf("flows_per_sec", flows)}.`}</Callout>
  );
}

function Refused({ failure }: { readonly failure: Failure }) {
  if (failure.kind === "unreachable" || failure.status !== 400) {
    return (
      <Callout tone="danger" title={t`Not reloaded`} isAlert>
        {failureText(failure)}
      </Callout>
    );
  }
  return (
    <Callout
      tone="danger"
      title={t`Not reloaded: the file has errors. The configuration in force did not change.`}
      isAlert
    >
      <ul class="problems">
        {problemLines(failure.text).map(({ at, key, rule }) => (
          <li key={`${at} ${key} ${rule}`}>
            {at !== null && <span class="mono">{at}</span>} {key !== null && <code>{key}</code>} {rule}
          </li>
        ))}
      </ul>
    </Callout>
  );
}
