/** How an interface is captured, in words. Pure. */
import { t } from "../language.ts";

const KINDS: Readonly<Record<string, string>> = {
  af_xdp: "AF_XDP",
  xdp_inline: t`XDP, inline`,
  pcap_live: "libpcap",
  pcap_file: t`capture file`,
  mirror_tunnel: t`mirror tunnel`,
  flow: t`flow telemetry`,
};

/** `xdp_inline`, `native, filtering, inline, 1 header in 256` is `XDP, inline (native, filtering, 1 header in 256)`. */
export function captureText({ kind, mode }: { readonly kind: string; readonly mode: string }): string {
  const name = KINDS[kind] ?? kind.replaceAll("_", " ");
  const said = name.toLowerCase();
  if (mode.toLowerCase().startsWith(said)) return mode;
  const parts = mode.split(", ").filter((part) => part !== "" && !said.includes(part.toLowerCase()));
  return parts.length === 0 ? name : `${name} (${parts.join(", ")})`;
}
