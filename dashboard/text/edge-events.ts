/** The text of an event of the edge beside its kind. Pure. */
import type { EdgeEventKind } from "../../src/edge/reports/edge-history.ts";
import { t } from "../language.ts";
import { CHALLENGE_REASONS, HTTP3_STATES, wordOf } from "./interface-words.ts";

const MOVED = /^from (.*) to (.*)$/s;
const CERT = /^valid until (\S+?)(?:, issued by (.*))?$/s;
const SILENT = /^no poll for (\d+) s$/;
const SWITCHED: Readonly<Record<string, string>> = {
  on: t`on`,
  off: t`off`,
  alive: t`alive`,
  "not alive": t`not alive`,
};

interface Said {
  readonly kind: EdgeEventKind;
  readonly detail: string;
}

/** A node's own words stay as they are. */
export function edgeEventText({ kind, detail }: Said): string {
  switch (kind) {
    case "challenge_started":
      return wordOf(CHALLENGE_REASONS, detail);
    case "dry_run":
    case "terminator_alive":
      return wordOf(SWITCHED, detail);
    case "version":
    case "h3_state":
      return movedText(detail);
    case "cert_issued":
    case "cert_renewed":
    case "cert_gone":
      return certText(detail);
    case "node_lost": {
      const [, seconds] = SILENT.exec(detail) ?? [];
      return seconds === undefined ? detail : t`no poll for ${seconds} s`;
    }
    default:
      return detail;
  }
}

function movedText(detail: string): string {
  const [, before, after] = MOVED.exec(detail) ?? [];
  if (before === undefined || after === undefined) return detail;
  return t`from ${wordOf(HTTP3_STATES, before)} to ${wordOf(HTTP3_STATES, after)}`;
}

function certText(detail: string): string {
  const [, end, issuer] = CERT.exec(detail) ?? [];
  if (end === undefined) return detail;
  const until = t`valid until ${end.slice(0, 16).replace("T", " ")} UTC`;
  return issuer === undefined ? until : t`${until}, issued by ${issuer}`;
}
