/** The files of the section `cluster`, as `floodwall check` reads them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { Authority } from "../../test/fixtures/cluster/authority.ts";
import { checkConfig } from "../config/check.ts";
import { fileFindings } from "./config-files.ts";

let authority: Authority;
beforeAll(() => {
  authority = new Authority();
  authority.issue("brain1");
  authority.issue("brain2");
});
afterAll(() => authority.remove());

function checked(name: string, files = authority.files("brain1")): readonly string[] {
  const path = authority.path("floodwall.yaml");
  writeFileSync(
    path,
    `networks: [192.0.2.0/24]
thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}
cluster:
  name: ${name}
  listen: "192.0.2.11:8443"
  certificate: ${files.certificate}
  key: ${files.key}
  authority: ${files.authority}
  brains: [{name: other, address: "192.0.2.12:8443"}]
`,
  );
  const report = checkConfig(path, { read: () => null, readFile: () => ({ kind: "missing" }) as never, fileFindings });
  return report.lines.map((line) => line.slice(path.length)).filter((line) => /^:\d+: cluster/.test(line));
}

test("a pair without etcd is warned of what it lacks, both of it", () => {
  expect(checked("brain1")).toEqual([
    ":3: cluster: warning: has no etcd: each brain gives the ACME slot of a zone by itself, so two edge nodes may order one certificate at once",
    ":3: cluster: warning: has no etcd: while the brains do not reach each other, each sends its notifications, so people may get them twice",
  ]);
});

test("files that cannot be used are errors, each at its key", () => {
  const { certificate, key } = authority.files("brain1");
  const [absent, other] = [authority.path("absent.pem"), authority.files("brain2").key];
  expect(checked("brain3")).toEqual([
    `:6: cluster.certificate: ${certificate} is of brain1: it must be of brain3, the name of this brain`,
  ]);
  expect(checked("brain1", { certificate, key: other, authority: certificate })).toEqual([
    `:7: cluster.key: ${other} is not the key of the certificate in ${certificate}`,
  ]);
  expect(checked("brain1", { certificate, key, authority: absent })[0]).toStartWith(
    `:8: cluster.authority: ${absent} cannot be read: ENOENT`,
  );
  expect(checked("brain1", { certificate, key: certificate, authority: certificate })).toEqual([
    `:7: cluster.key: ${certificate} must be a private key in PEM without a passphrase`,
  ]);
});
