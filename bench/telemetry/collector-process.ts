/** What the worker of our collector is started with, and what it prints at its end. */
export interface CollectorOptions {
  readonly addon: string;
  readonly port: number;
  readonly network: string;
  /** Bytes. */
  readonly receiveBuffer: number;
}

export interface CollectorCounts {
  readonly datagrams: number;
  readonly overruns: number;
  readonly records: number;
  readonly counted: number;
  readonly lostRecords: number;
  readonly lostDatagrams: number;
  readonly templates: number;
  readonly exporters: readonly {
    /** 16 bytes as hexadecimal text. */
    readonly address: string;
    readonly records: number;
    readonly datagrams: number;
    readonly lostRecords: number;
    readonly lostDatagrams: number;
    readonly undecoded: readonly { readonly reason: string; readonly count: number }[];
  }[];
  readonly residentBytes: number;
}
