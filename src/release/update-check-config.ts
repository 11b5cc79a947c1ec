/** What the section `update_check` says. */

export interface UpdateCheckConfig {
  /** null: off. */
  readonly url: string | null;
  readonly intervalSeconds: number;
}
