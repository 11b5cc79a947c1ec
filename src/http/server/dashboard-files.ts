/** The web page as `make dashboard` built it: each file in the codings that a browser may take. Knows nothing of requests. */
import { gunzipSync } from "node:zlib";

export type Coding = "br" | "gzip" | "identity";

export interface DashboardFile {
  /** Its path on the listener. */
  readonly path: string;
  readonly contentType: string;
  /** Of its content, without quotes. */
  readonly hash: string;
  /** Its name changes with its content: whoever has it need never ask again. */
  readonly isHashed: boolean;
  readonly bytes: Readonly<Record<Coding, Uint8Array<ArrayBuffer>>>;
}

/** By path. */
export type DashboardFiles = ReadonlyMap<string, DashboardFile>;

/** What the build leaves behind; `br` and `gzip` are base64. */
export interface BuiltDashboard {
  /** Names of the npm packages inside: who passes it on names them. */
  readonly packages: readonly string[];
  readonly files: readonly (Pick<DashboardFile, "path" | "contentType" | "hash" | "isHashed"> & {
    readonly br: string;
    readonly gzip: string;
  })[];
}

/** null: it was not built. */
export function readDashboard(): DashboardFiles | null {
  const built = builtDashboard();
  return built === null ? null : dashboardFiles(built);
}

export function dashboardFiles({ files }: Pick<BuiltDashboard, "files">): DashboardFiles {
  return new Map(
    files.map(({ br, gzip, ...file }) => {
      const packed = Uint8Array.fromBase64(gzip);
      const identity = new Uint8Array(gunzipSync(packed));
      return [file.path, { ...file, bytes: { br: Uint8Array.fromBase64(br), gzip: packed, identity } }];
    }),
  );
}

function builtDashboard(): BuiltDashboard | null {
  try {
    // A literal, so that a compiled executable carries the page inside.
    return require("../../../build/dashboard/files.json") as BuiltDashboard;
  } catch {
    return null;
  }
}
