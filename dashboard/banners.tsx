/** Warnings that every view shows: the data is old, nothing is announced, anyone may act. */
import type { SessionWire } from "../src/http/wire/session.ts";
import { contact, silentSinceMs } from "./api/contact.ts";
import { streamState } from "./api/live.ts";
import { status, wholeStatus } from "./api/running.ts";
import { t, tx } from "./language.ts";
import { Callout } from "./parts/callout.tsx";
import { momentText } from "./text/format/times.ts";
import { isLoopback } from "./text/loopback.ts";

export function Banners({ who }: { readonly who: SessionWire }) {
  const { value } = status.state;
  const isDryRun = value.kind === "ready" && value.data.dry_run;
  return (
    <div class="banners">
      <LostContact />
      {streamState.value === "polling" && (
        <Callout
          tone="warn"
          title={t`Not live`}
        >{t`Floodwall has no stream of events left for this page: too many are open with this token. Attacks are read every five seconds.`}</Callout>
      )}
      {isDryRun && (
        <Callout
          tone="warn"
          title={t`Dry run`}
        >{tx`Attacks are detected and bans recorded; nothing is announced and nothing is dropped. When you trust what you see, set ${<code>dry_run: false</code>} and reload.`}</Callout>
      )}
      {who.open && !isLoopback(location.hostname) && (
        <Callout
          tone="warn"
          title={t`The API is open`}
        >{tx`No token is configured: everyone who can reach this address can ban and unban. See ${<code>api.tokens</code>}.`}</Callout>
      )}
      <Update />
    </div>
  );
}

export function LostContact() {
  const isLost = contact.value.kind === "lost";
  const sinceMs = silentSinceMs.value;
  if (!isLost && sinceMs === null) return null;
  return (
    <Callout
      tone="danger"
      title={sinceMs === null ? t`No answer` : t`No answer since ${momentText(sinceMs, Date.now())}`}
      isAlert
    >{t`Floodwall does not answer: all that is shown is from that time, and times do not go on. The page keeps trying. Check whether the service runs.`}</Callout>
  );
}

function Update() {
  const whole = wholeStatus();
  if (whole?.latest_version === undefined) return null;
  return (
    <Callout
      tone={whole.latest_is_security === true ? "danger" : "info"}
      title={t`Version ${whole.latest_version} is out`}
    >
      {whole.latest_is_security === true ? t`It closes a security hole. ` : ""}
      <a href={whole.latest_url ?? ""} rel="noreferrer noopener" target="_blank">{t`What is new`}</a>
    </Callout>
  );
}
