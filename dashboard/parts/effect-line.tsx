/** The mitigation of an attack, in one line with text and color. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { tx } from "../language.ts";
import { effectOf } from "../text/mitigation.ts";
import { Badge } from "./badge.tsx";
import { BanEnds } from "./ban-end.tsx";

interface EffectLineProps {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
}

export function EffectLine({ attack, ban }: EffectLineProps) {
  const { tone, title, detail } = effectOf(attack, ban);
  return (
    <p class="effect">
      <Badge tone={tone}>{title}</Badge>
      {detail !== null && <span>{detail}</span>}
      {ban?.state === "active" && attack.ban_state === "active" && (
        <span class="muted">{tx`Ban ends: ${<BanEnds ban={ban} />}`}</span>
      )}
    </p>
  );
}
