/** A file of others that the configuration names and that cannot be used: the service goes on without it. */

/** By what the file is for. */
export const FILE_KINDS = [
  "prefix_sets",
  "origins",
  "zones",
  "tls",
  "secrets",
  "clearance_masters",
  "identity_provider",
  "authority",
  "hostgroup_settings",
] as const;
export type FileKind = (typeof FILE_KINDS)[number];

export interface FileFault {
  /** The place in the configuration: unique. */
  readonly key: string;
  readonly error: string;
  /** The setting that holds in its place. */
  readonly effect: string;
}

export interface FileFaultView extends FileFault {
  readonly kind: FileKind;
  /** Wall clock, ms. */
  readonly sinceMs: number;
}
