/** The listener with TLS, and certificates that are renewed while it runs. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Certificate, selfSigned } from "../../../test/fixtures/edge/certificate.ts";
import { emptiedFolder } from "../../../test/fixtures/folders.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { Listener } from "./listener.ts";
import { createApp } from "./pipeline.ts";
import { readTlsPair } from "./tls-files.ts";

const CHECK_MS = 5000;

const directory = emptiedFolder("tls");
let clock: ManualClock;
let listener: Listener;
let logged: string[];
let tlsErrors: (string | null)[];

const files = () => ({ certFile: join(directory, "cert.pem"), keyFile: join(directory, "key.pem") });

function put({ cert, key }: Certificate): Certificate {
  writeFileSync(files().certFile, cert);
  writeFileSync(files().keyFile, key);
  return { cert, key };
}

/** Over a connection of its own. */
function ask({ cert }: Certificate, path = "/"): Promise<string> {
  const options = { keepalive: false, tls: { ca: cert } };
  return fetch(`https://localhost:${listener.port}${path}`, options).then((answer) => answer.text());
}

beforeEach(() => {
  clock = new ManualClock();
  logged = [];
  tlsErrors = [];
  const release = Promise.withResolvers<void>();
  const app = createApp()
    .get("/", () => "here")
    .get("/slow", () => release.promise.then(() => "late"))
    .get("/release", () => {
      release.resolve();
      return "released";
    });
  const log = {
    info: (_: object, text: string) => logged.push(text),
    error: (_: object, text: string) => logged.push(text),
  };
  listener = new Listener({
    app: app as unknown as ReturnType<typeof createApp>,
    host: "127.0.0.1",
    port: 0,
    error: () => new Response(null, { status: 500 }),
    readTls: () => readTlsPair(files()),
    onTls: (error) => tlsErrors.push(error),
    log,
    limiter: { pass: (_, say) => say(0) },
    timers: new ManualTimers(clock),
  });
});
afterEach(async () => {
  await listener.stop();
});

test("a renewed certificate is served, and a request in progress ends on its old connection", async () => {
  const before = put(selfSigned());
  listener.start();
  expect(await ask(before)).toBe("here");
  const slow = ask(before, "/slow");
  await ask(before);
  const after = put(selfSigned());
  clock.advance(CHECK_MS);
  expect(await ask(after)).toBe("here");
  expect(await ask(before).catch(() => "refused")).toBe("refused");
  await ask(after, "/release");
  expect(await slow).toBe("late");
  expect(logged).toEqual(["the API has a new certificate"]);
});

test.each([
  ["of another key", ""],
  ["with a chain that is cut", "-----BEGIN CERTIFICATE-----\nMIIB"],
])("a certificate %s leaves the one in force", async (_, rest) => {
  const before = put(selfSigned());
  listener.start();
  writeFileSync(files().certFile, rest === "" ? selfSigned().cert : before.cert + rest);
  clock.advance(CHECK_MS);
  expect(await ask(before)).toBe("here");
  expect(logged).toEqual(["the new certificate of the API cannot be used: it is tried again"]);
});

test.each([
  ["cert.pem", null, /cert\.pem cannot be read: /],
  ["cert.pem", "", /cert\.pem must be a certificate in PEM/],
  ["cert.pem", "no certificate", /cert\.pem must be a certificate in PEM/],
  ["key.pem", "no key", /key\.pem must be a private key in PEM without a passphrase/],
  ["key.pem", "another", /key\.pem is not the key of the certificate in .*cert\.pem/],
])("%s that is %j at the start leaves the port closed until the files are good", async (name, content, message) => {
  const before = put(selfSigned());
  const written = content === "another" ? selfSigned().key : content;
  if (written === null) rmSync(join(directory, name));
  else writeFileSync(join(directory, name), written);
  listener.start();
  expect(tlsErrors).toEqual([expect.stringMatching(message)]);
  expect(listener.isOpen).toBe(false);
  clock.advance(CHECK_MS);
  expect(listener.isOpen).toBe(false);
  put(before);
  clock.advance(CHECK_MS);
  expect(await ask(before)).toBe("here");
  expect(await fetch(`http://localhost:${listener.port}/`).catch(() => "refused")).toBe("refused");
  expect(tlsErrors.at(-1)).toBeNull();
});
