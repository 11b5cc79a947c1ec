/** Rules between the keys of `cluster`. */
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseListen } from "../../schema/text-forms.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;

export function* brainNamesAreUnique({ cluster }: File): Generator<Finding> {
  for (const [name, i, other] of repeated(cluster?.brains?.map((brain) => brain?.name))) {
    yield { path: ["cluster", "brains", i, "name"], rule: `${name} is there already, as cluster.brains[${other}]` };
  }
}

export function* brainsAreTheOthers({ cluster }: File): Generator<Finding> {
  for (const [i, brain] of (cluster?.brains ?? []).entries()) {
    if (brain?.name === undefined || brain.name !== cluster?.name) continue;
    yield { path: ["cluster", "brains", i, "name"], rule: `${brain.name} is this brain: list only the others` };
  }
}

/** The first that ends a diversion would take it from the others. */
export function* hookGoesWithOneBrain({ cluster, scrubbing }: File): Generator<Finding> {
  if (cluster === undefined || scrubbing?.hook === undefined) return;
  const rule =
    "goes without cluster: each brain would call it, and the first that ends a diversion ends that of the others";
  yield { path: ["scrubbing", "hook"], rule };
}

export function* clusterPortIsFree({ cluster, api }: File): Generator<Finding> {
  const [own, other] = [parseListen(cluster?.listen ?? ""), parseListen(api?.listen ?? "")];
  if (own === null || other === null || own.port === 0 || own.port !== other.port || own.host !== other.host) return;
  yield { path: ["cluster", "listen"], rule: `is the address of api.listen: choose another port than ${own.port}` };
}

export function* etcdKeysAgree({ cluster }: File): Generator<Finding> {
  const etcd = cluster?.etcd;
  if (etcd === undefined) return;
  const { user, password_env: variable, password_file: file, certificate, key } = etcd;
  const fault = (name: string, rule: string): Finding => ({ path: ["cluster", "etcd", name], rule });
  if (variable !== undefined && file !== undefined)
    yield fault("password_file", "takes the place of password_env: remove one of them");
  if (user !== undefined && variable === undefined && file === undefined)
    yield fault("user", "needs its password: set password_env or password_file");
  if (user === undefined && (variable ?? file) !== undefined)
    yield fault(variable === undefined ? "password_file" : "password_env", "goes with user");
  if (certificate !== undefined && key === undefined) yield fault("certificate", "goes with key");
  if (key !== undefined && certificate === undefined) yield fault("key", "goes with certificate");
}

export function* etcdEndpointsAreSafe({ cluster }: File): Generator<Finding> {
  const endpoints = cluster?.etcd?.endpoints;
  for (const [endpoint, i, other] of repeated(endpoints)) {
    yield { path: ["cluster", "etcd", "endpoints", i], rule: `${endpoint} is there already, as endpoints[${other}]` };
  }
  for (const [i, endpoint] of (endpoints ?? []).entries()) {
    if (endpoint === undefined || !URL.canParse(endpoint)) continue;
    const { protocol, hostname } = new URL(endpoint);
    if (protocol !== "http:" || LOOPBACK.has(hostname)) continue;
    const rule = "must be https: the password and all orders would cross the network in clear";
    yield { path: ["cluster", "etcd", "endpoints", i], rule };
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);
