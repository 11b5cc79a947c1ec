/** The section `update_check`. */

export interface UpdateCheckConfig {
  /** null: off. */
  readonly url: string | null;
  readonly intervalSeconds: number;
}
