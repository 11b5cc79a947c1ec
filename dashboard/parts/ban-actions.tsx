/** The ban and unban buttons, each with a confirmation dialog. Hidden from callers who may not use them. */
import { useState } from "preact/hooks";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { command } from "../api/client.ts";
import { tookBan } from "../api/live.ts";
import { banSubject } from "../text/bans.ts";
import { momentText } from "../text/format/times.ts";
import { methodName } from "../text/format/words.ts";
import { BanPreview } from "./ban-preview.tsx";
import { CommandButton } from "./command-button.tsx";
import { TextField } from "./field.tsx";
import { showOutcome } from "./outcome.tsx";

/** `target`: the address to ban; absent: the dialog asks for it. */
export function BanButton({ target }: { readonly target?: string }) {
  const [typed, setTyped] = useState("");
  const ip = target ?? typed.trim();
  return (
    <CommandButton<BanWire>
      label={`Ban ${target ?? "an address"}`}
      text={target === undefined ? "Ban an address …" : "Ban …"}
      look={target === undefined ? "plain" : "danger"}
      title={target === undefined ? "Ban an address" : `Ban ${target}?`}
      verb="Ban"
      isDangerous
      act={() => command("/api/v1/ban", { ip })}
      onDone={(ban) => {
        tookBan(ban);
        setTyped("");
        showOutcome(bannedText(ban));
      }}
    >
      {target === undefined && (
        <TextField label="Address" value={typed} onInput={setTyped} placeholder="203.0.113.7" isRequired />
      )}
      <BanPreview ip={ip} />
    </CommandButton>
  );
}

export function UnbanButton({ ban }: { readonly ban: BanWire }) {
  if (ban.state !== "active") return null;
  const { target, prefix, manual } = ban;
  return (
    <CommandButton<BanWire>
      label={`Unban ${prefix}`}
      text="Unban …"
      title={`Unban ${prefix}?`}
      verb="Unban"
      isDangerous
      act={() => command("/api/v1/unban", { ip: target })}
      onDone={(lifted) => {
        tookBan(lifted);
        showOutcome(`The ban of ${banSubject(lifted)} is lifted.`);
      }}
    >
      <p>
        {ban.dry_run ? "Dry run: nothing was announced. The ban ends." : "Its traffic flows as before the ban."}
        {manual ? "" : " The current attack does not ban it again; the next attack does."}
      </p>
    </CommandButton>
  );
}

function bannedText(ban: BanWire): string {
  const until = momentText(Date.parse(ban.expires_at), Date.now());
  return `${banSubject(ban)} is banned until ${until} (${methodName(ban.method)}${ban.dry_run ? ", dry run" : ""}).`;
}
