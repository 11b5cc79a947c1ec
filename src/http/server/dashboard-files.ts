/** The web page as built by `make dashboard`: each file in several codings. Knows nothing of requests. */
import { gunzipSync } from "node:zlib";

export type Coding = "br" | "gzip" | "identity";

export interface DashboardFile {
  /** Its path on the listener. */
  readonly path: string;
  readonly contentType: string;
  /** Hash of its content, without quotes. */
  readonly hash: string;
  /** Its name contains a hash of its content, so caches never need to validate it. */
  readonly isHashed: boolean;
  readonly bytes: Readonly<Record<Coding, Uint8Array<ArrayBuffer>>>;
}

/** By path. */
export type DashboardFiles = ReadonlyMap<string, DashboardFile>;

/** The output of the build; `br` and `gzip` are base64. */
export interface BuiltDashboard {
  /** Names of the npm packages in the page, for license notices. */
  readonly packages: readonly string[];
  readonly files: readonly (Pick<DashboardFile, "path" | "contentType" | "hash" | "isHashed"> & {
    readonly br: string;
    readonly gzip: string;
  })[];
}

/** null: the page was not built. */
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
    // A literal path, so that a compiled executable includes the page.
    return require("../../../build/dashboard/files.json") as BuiltDashboard;
  } catch {
    return null;
  }
}
