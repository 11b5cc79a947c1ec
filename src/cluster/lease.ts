/** Which brain does what must happen once. */

export interface Lease {
  /**
   * Whether this brain does it now. Called before each act: a brain that was frozen must not go on with what another one
   * has taken over since.
   */
  holds(): boolean;
}
