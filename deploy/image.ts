/**
 * A container image for several processors as one tar archive in the layout of the OCI (image-spec 1.1, image-layout.md):
 * podman and skopeo read it. The same files and time give the same bytes.
 */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "./apt-repository.ts";
import type { Architecture } from "./architecture.ts";

/** Number of the user that may run it without root's rights, and that a volume for the state belongs to at first. */
export const USER_ID = 990;
const STATE = "var/lib/floodwall";

const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG = "application/vnd.oci.image.config.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";

export interface ImageLayer {
  readonly architecture: Architecture;
  /** Folders, each as the root of a system, in the order of the layers. */
  readonly folders: readonly string[];
}

export interface ImageOrder {
  /** Path of the archive. A folder beside it is used meanwhile. */
  readonly path: string;
  readonly images: readonly ImageLayer[];
  readonly version: string;
  /** Unix seconds. */
  readonly time: number;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export async function makeImage({ path, images, version, time }: ImageOrder): Promise<void> {
  const layout = `${path}.layout`;
  rmSync(layout, { recursive: true, force: true });
  mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
  const writer = new ImageWriter(layout, version, time);
  const manifests = [];
  for (const image of images) manifests.push(await writer.image(image));
  const index = writer.json(INDEX, { schemaVersion: 2, mediaType: INDEX, manifests });
  // A tag has no tilde.
  const name = `floodwall:${version.replace("~", "-")}`;
  const named = { ...index, annotations: { "org.opencontainers.image.ref.name": name } };
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }));
  await archive(layout, path, time);
  rmSync(layout, { recursive: true });
}

class ImageWriter {
  private readonly layout: string;
  private readonly version: string;
  private readonly time: number;

  constructor(layout: string, version: string, time: number) {
    this.layout = layout;
    this.version = version;
    this.time = time;
  }

  async image({ architecture, folders }: ImageLayer) {
    const layers: Descriptor[] = [];
    const contents: string[] = [];
    for (const folder of folders) {
      const tar = join(this.layout, "layer.tar");
      await archive(folder, tar, this.time);
      contents.push(`sha256:${sha256(tar)}`);
      await Bun.$`gzip --no-name -6 ${tar}`;
      layers.push(this.file(LAYER, `${tar}.gz`));
    }
    const config = this.json(CONFIG, this.configuration(architecture, contents));
    const manifest = this.json(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config, layers });
    return { ...manifest, platform: { architecture: architecture.name, os: "linux" } };
  }

  json(mediaType: string, value: object): Descriptor {
    const path = join(this.layout, "blob.json");
    writeFileSync(path, JSON.stringify(value));
    return this.file(mediaType, path);
  }

  /** Moves the file to its name by content. */
  private file(mediaType: string, path: string): Descriptor {
    const { size } = statSync(path);
    const hash = sha256(path);
    renameSync(path, join(this.layout, "blobs/sha256", hash));
    return { mediaType, digest: `sha256:${hash}`, size };
  }

  private configuration({ name }: Architecture, contents: readonly string[]): object {
    return {
      created: new Date(this.time * 1000).toISOString(),
      architecture: name,
      os: "linux",
      config: {
        Entrypoint: ["/usr/bin/floodwall"],
        Cmd: ["serve", "--config", "/etc/floodwall/floodwall.yaml"],
        Env: ["PATH=/usr/sbin:/usr/bin"],
        WorkingDir: "/",
        ExposedPorts: { "8080/tcp": {}, "179/tcp": {} },
        Volumes: { [`/${STATE}`]: {} },
        StopSignal: "SIGTERM",
        Labels: {
          "org.opencontainers.image.title": "floodwall",
          "org.opencontainers.image.version": this.version,
          "org.opencontainers.image.licenses": "Apache-2.0",
        },
      },
      rootfs: { type: "layers", diff_ids: contents },
      history: contents.map(() => ({ created: new Date(this.time * 1000).toISOString(), created_by: "make release" })),
    };
  }
}

/** A folder as a tar archive: sorted, all of one time, owned by root but for the state, which is empty and comes last. */
async function archive(folder: string, path: string, time: number): Promise<void> {
  const same = ["--sort=name", `--mtime=@${time}`, "--numeric-owner", "--format=gnu"];
  const ownedBy = (id: number) => [`--owner=${id}`, `--group=${id}`];
  await Bun.$`tar --create --file ${path} ${same} ${ownedBy(0)} --exclude=./${STATE} --directory ${folder} .`;
  if (!existsSync(join(folder, STATE))) return;
  await Bun.$`tar --append --file ${path} ${same} ${ownedBy(USER_ID)} --directory ${folder} ./${STATE}`;
}
