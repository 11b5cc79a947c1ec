/** Shows what a ban of an address would do, before the user confirms it. */

import { useEffect, useState } from "preact/hooks";
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { serviceNow } from "../api/contact.ts";
import { useResource } from "../api/resource.ts";
import { t, tx } from "../language.ts";
import { previewSentences } from "../text/ban-preview.ts";
import { failureText } from "../text/failure.ts";
import { looksLikeAddress } from "../text/format/address.ts";
import { routeWords } from "../text/timeline.ts";

const PAUSE_MS = 250;

/** @param ip the text in the input field. */
export function BanPreview({ ip }: { readonly ip: string }) {
  const settled = useSettled(ip);
  return (
    <div role="status" class="ban-preview">
      {looksLikeAddress(settled) && settled === ip ? (
        <Preview key={settled} ip={settled} />
      ) : (
        <p class="muted">{ip === "" ? t`Type an address.` : t`An address is 203.0.113.7 or 2001:db8::7.`}</p>
      )}
    </div>
  );
}

function Preview({ ip }: { readonly ip: string }) {
  const { value } = useResource<BanPreviewWire>(`/api/v1/bans/preview?ip=${encodeURIComponent(ip)}`, 0).state;
  switch (value.kind) {
    case "loading":
      return <p class="muted">{t`Loading a preview of the ban …`}</p>;
    case "failed":
      return <p>{failureText(value.failure)}</p>;
    case "ready": {
      const { ban, hostgroup } = value.data;
      return (
        <>
          {previewSentences(value.data, serviceNow()).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          {hostgroup !== undefined && (
            <p class="muted">{tx`Hostgroup ${hostgroup}${ban.state === "active" && ` · ${routeWords(ban.route)}`}`}</p>
          )}
        </>
      );
    }
    default:
      return value satisfies never;
  }
}

/** The value once it has not changed for PAUSE_MS. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
