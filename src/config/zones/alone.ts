/** A zones file that is checked by itself: which hostgroups there are is not known then. */
import type { ConfigProblem } from "../../schema/problem.ts";
import { parseFile } from "../load/load.ts";
import { CONFIG_BYTES_MAX } from "../load/read-file.ts";
import { readYaml } from "../load/yaml-document.ts";
import { ZonesFile } from "./file.ts";
import { zonesFindings } from "./rules.ts";

/** null: it is no zones file. */
export function zonesAlone(bytes: Uint8Array): readonly ConfigProblem[] | null {
  const { value } = readYaml(new TextDecoder().decode(bytes.subarray(0, CONFIG_BYTES_MAX)));
  if (typeof value !== "object" || value === null || !("zones" in value) || "networks" in value) return null;
  const parsed = parseFile(bytes, {
    schema: ZonesFile,
    bytesMax: CONFIG_BYTES_MAX,
    crossFieldFindings: (zones) => zonesFindings(zones, null),
    required: "zones",
  });
  return parsed.kind === "invalid" ? parsed.problems : [];
}
