/** What the joins need of the connections to the other brains. */
export interface JoinPeers {
  /** The name of this brain. */
  readonly own: string;
  states(): readonly { readonly name: string; readonly isUp: boolean }[];
  /** To every brain that is up; those that are not get the state when they are. */
  broadcast(kind: string, body: unknown): void;
  send(to: string, kind: string, body: unknown): void;
  on(kind: string, listener: (from: string, body: unknown) => void): void;
  /** The connection is ready: the listener sends what the other brain must know. */
  onUp(listener: (name: string) => void): void;
  onDown(listener: (name: string) => void): void;
}
