/** How an interface is captured, in words. Pure. */
import { t } from "../language.ts";
import { wordOf } from "./interface-words.ts";

const KINDS: Readonly<Record<string, string>> = {
  af_xdp: "AF_XDP",
  xdp_inline: t`XDP, inline`,
  pcap_live: "libpcap",
  pcap_file: t`capture file`,
  mirror_tunnel: t`mirror tunnel`,
  flow: t`flow telemetry`,
};

const MODES: Readonly<Record<string, string>> = {
  native: t`native`,
  generic: t`generic`,
  filtering: t`filtering`,
  "zero copy": t`zero copy`,
  "copy mode": t`copy mode`,
  "no samples": t`no samples`,
  "real-time priority": t`real-time priority`,
  "raised priority": t`raised priority`,
  "capture file at its own pace": t`capture file at its own pace`,
  "capture file as fast as it can be read": t`capture file as fast as it can be read`,
  "capture file on its own clock": t`capture file on its own clock`,
};
const SAMPLED = /^1 header in (\d+)$/;

/** `xdp_inline`, `native, filtering, inline, 1 header in 256` is `XDP, inline (native, filtering, 1 header in 256)`. */
export function captureText({ kind, mode }: { readonly kind: string; readonly mode: string }): string {
  const name = KINDS[kind] ?? kind.replaceAll("_", " ");
  // It says the kind itself.
  if (kind === "pcap_file") return modeWord(mode);
  const said = kind.replaceAll("_", " ");
  const parts = mode.split(", ").filter((part) => part !== "" && !said.includes(part.toLowerCase()));
  return parts.length === 0 ? name : `${name} (${parts.map(modeWord).join(", ")})`;
}

/** A part of how a program is attached: `native`. */
export function modeWord(part: string): string {
  const [, headers] = SAMPLED.exec(part) ?? [];
  return headers === undefined ? wordOf(MODES, part) : t`1 header in ${headers}`;
}
