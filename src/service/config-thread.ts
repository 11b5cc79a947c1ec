/** The thread of reloads: reads and checks a configuration as `floodwall check` does, and returns it serialized. */
import { type CheckedConfig, readChecked } from "../config/check.ts";
import { type PackedConfig, packConfig } from "../config/packed-config.ts";
import { readEnvFile } from "../system/env-file.ts";
import { nextTurn } from "../system/timers.ts";
import { quickFileFindings } from "./config-files.ts";

declare const self: Worker;

export interface ConfigOrder {
  readonly path: string;
  /** The file of settings by the API. Absent: that of the file's `state_dir`. */
  readonly settings?: string;
  /** The current environment variables: a thread sees no changes of them. */
  readonly variables: Readonly<Record<string, string>>;
}

export type ConfigMessage =
  | { readonly kind: "valid"; readonly packed: PackedConfig; readonly warnings: readonly string[] }
  | Extract<CheckedConfig, { kind: "invalid" }>;

self.onmessage = async ({ data }: MessageEvent<ConfigOrder>) => {
  const { message, buffers } = read(data);
  self.postMessage(message, buffers);
  // Reading uses tens of times the size of the file, and without this the memory would not be released.
  await nextTurn();
  Bun.gc(true);
};

function read({ path, settings, variables }: ConfigOrder): {
  readonly message: ConfigMessage;
  readonly buffers: ArrayBuffer[];
} {
  const surroundings = {
    read: (name: string) => (Object.hasOwn(variables, name) ? (variables[name] ?? null) : null),
    readFile: readEnvFile,
    fileWarnings: quickFileFindings,
  };
  const checked = readChecked(path, surroundings, settings);
  if (checked.kind === "invalid") return { message: checked, buffers: [] };
  const { packed, buffers } = packConfig(checked.config);
  return { message: { kind: "valid", packed, warnings: checked.warnings }, buffers };
}
