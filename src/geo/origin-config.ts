/** Which files `samples` names for the origins of sources. */

/** Paths of files in MaxMind's format; null: none. */
export interface OriginFiles {
  readonly asnFile: string | null;
  readonly countryFile: string | null;
}
