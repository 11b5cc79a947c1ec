/** The thread of a reload: reads and checks one configuration as `floodwall check` does, and hands it over packed. */
import { type CheckedConfig, readChecked } from "./config/check.ts";
import { type PackedConfig, packConfig } from "./config/packed-config.ts";
import { originFindings } from "./geo/origins.ts";
import { readEnvFile } from "./system/env-file.ts";
import { processEnvironment } from "./system/environment.ts";

declare const self: Worker;

export type ConfigMessage =
  | { readonly kind: "valid"; readonly packed: PackedConfig; readonly warnings: readonly string[] }
  | Extract<CheckedConfig, { kind: "invalid" }>;

self.onmessage = ({ data: path }: MessageEvent<string>) => {
  const checked = readChecked(path, {
    read: (name) => processEnvironment.read(name),
    readFile: readEnvFile,
    fileFindings: ({ samples }) => originFindings(samples),
  });
  if (checked.kind === "invalid") {
    self.postMessage(checked satisfies ConfigMessage);
    return;
  }
  const { packed, buffers } = packConfig(checked.config);
  self.postMessage({ kind: "valid", packed, warnings: checked.warnings } satisfies ConfigMessage, buffers);
};
