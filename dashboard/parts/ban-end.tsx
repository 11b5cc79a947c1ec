/** When a ban ends: a time, when its attack has been quiet for a while, or the later of a time and that. */
import type { BanWire } from "../../src/http/wire/ban.ts";
import { activeAttacks } from "../api/live.ts";
import { t, tx } from "../language.ts";
import { endOf } from "../text/bans.ts";
import { Until } from "./moment.tsx";

interface BanEndsProps {
  readonly ban: BanWire;
  /** In a table. */
  readonly isShort?: boolean;
}

export function BanEnds({ ban, isShort }: BanEndsProps) {
  const end = endOf(ban, activeAttacks());
  switch (end.kind) {
    case "ended":
      return <>–</>;
    case "renewed":
      return (
        <>
          {end.calm ??
            (isShort === true ? t`with the attack` : t`stays until the attack has been quiet for ${end.ofSeconds} s`)}
        </>
      );
    case "outlasts":
      return <>{tx`in ${<Until at={end.at} />} or later, after the attack`}</>;
    case "at":
      return <>{tx`in ${<Until at={end.at} />}`}</>;
    default:
      return end satisfies never;
  }
}
