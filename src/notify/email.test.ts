import { afterEach, describe, expect, test } from "bun:test";
import { selfSigned } from "../../test/fixtures/edge/certificate.ts";
import { MailServer, type MailServerOptions } from "../../test/fixtures/notify/mail-server.ts";
import { banEvent, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { ban } from "../../test/fixtures/views.ts";
import type { Channel } from "./channel.ts";
import { emailChannel } from "./email.ts";
import type { NotifyEvent } from "./event.ts";
import type { EmailConfig } from "./notify-config.ts";

const certificate = selfSigned();
const ACCOUNT = { user: "noc", password: "s3cret" };
const variables: Readonly<Record<string, string>> = { USER: ACCOUNT.user, PASSWORD: ACCOUNT.password };

let server: MailServer | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

async function serve(options: Partial<MailServerOptions> & Pick<MailServerOptions, "security">): Promise<MailServer> {
  server = await MailServer.start({ certificate, ...options });
  return server;
}

interface Sending {
  readonly port: number;
  readonly config?: Partial<EmailConfig>;
  readonly signal?: AbortSignal;
  readonly authority?: string | null;
  readonly event?: NotifyEvent;
}

function send({ event, signal = new AbortController().signal, ...sending }: Sending): Promise<unknown> {
  return outcomeOf(channelTo(sending).deliver([event ?? sessionEvent({ id: "id-7" })], signal));
}

function outcomeOf(delivery: Promise<void>): Promise<unknown> {
  return delivery.then(
    () => "sent",
    (fault: unknown) => fault,
  );
}

function channelTo({ port, config, authority }: Pick<Sending, "port" | "config" | "authority">): Channel {
  return emailChannel(
    {
      kind: "email",
      host: "127.0.0.1",
      port,
      security: "starttls",
      from: "floodwall@example.net",
      to: ["noc@example.net", "boss@example.net"],
      usernameEnv: null,
      passwordEnv: null,
      ...config,
    },
    {
      environment: { read: (name) => variables[name] ?? null },
      wallMs: () => 0,
      instance: "box1",
      pageUrl: null,
      telegramApi: "",
      template: null,
      reach: null,
      authority: authority === undefined ? certificate.cert : authority,
    },
  );
}

const WITH_ACCOUNT = { usernameEnv: "USER", passwordEnv: "PASSWORD" };

describe("a mail", () => {
  test.each(["starttls", "tls", "none"] as const)("is sent with security %s", async (security) => {
    const { port, mails } = await serve({ security });
    expect(await send({ port, config: { security } })).toBe("sent");
    expect(mails).toHaveLength(1);
    const [mail] = mails;
    expect(mail).toMatchObject({
      from: "floodwall@example.net",
      to: ["noc@example.net", "boss@example.net"],
      isEncrypted: security !== "none",
    });
    expect(mail?.text).toContain("Subject: BGP session with 192.0.2.254 (AS 64501) is lost\r\n");
    expect(mail?.text).toMatch(/^Message-ID: <[0-9a-f]{32}@example.net>\r$/m);
    expect(mail?.text).toContain("Auto-Submitted: auto-generated\r\n");
    expect(mail?.text.replaceAll("=\r\n", "")).toContain("\r\nFloodwall on box1. Dry run: off");
  });

  test("is sent for an account", async () => {
    const { port, mails } = await serve({ security: "starttls", account: ACCOUNT });
    expect(await send({ port, config: WITH_ACCOUNT })).toBe("sent");
    expect(mails[0]?.user).toBe("noc");
  });

  test("is not sent, and no account revealed, where STARTTLS is configured and not offered", async () => {
    const { port, mails, logins } = await serve({ security: "none", account: ACCOUNT });
    expect(await send({ port, config: WITH_ACCOUNT })).toMatchObject({ message: expect.stringContaining("ETLS") });
    expect({ mails, logins }).toEqual({ mails: [], logins: [] });
  });

  test.each(["starttls", "tls"] as const)(
    "is not sent to a server without a trusted certificate: %s",
    async (security) => {
      const { port, mails, logins } = await serve({ security, account: ACCOUNT });
      const outcome = await send({ port, config: { security, ...WITH_ACCOUNT }, authority: null });
      expect(outcome).toMatchObject({ name: "DeliveryFault" });
      expect({ mails, logins }).toEqual({ mails: [], logins: [] });
    },
  );

  test("that an account is refused for may be sent again, and the fault does not quote the account", async () => {
    const { port } = await serve({ security: "starttls", account: { user: "noc", password: "other" } });
    const fault = await send({ port, config: WITH_ACCOUNT });
    expect(fault).toMatchObject({ message: "EAUTH 535", isFinal: false });
    expect(Bun.inspect(fault)).not.toContain("s3cret");
  });

  test.each([
    [451, false],
    [554, true],
  ])("that is refused with %d; final: %p", async (refuses, isFinal) => {
    const { port } = await serve({ security: "starttls", refuses });
    expect(await send({ port })).toMatchObject({ message: `EMESSAGE ${refuses}`, isFinal });
  });

  test("has an id of its own events and recipients: servers and readers leave out another one with the same", async () => {
    const { port, mails } = await serve({ security: "none" });
    const [one, other] = ["id-7", "id-8"].map((id) => sessionEvent({ id }));
    if (one === undefined || other === undefined) throw new Error("no events");
    // The third one follows on a kill before the answer to the first.
    for (const [events, to] of [
      [[one], ["noc@example.net"]],
      [[one], ["noc@example.net"]],
      [[one, other], ["noc@example.net"]],
      [[one], ["noc@example.net", "boss@example.net"]],
    ] as const)
      await channelTo({ port, config: { security: "none", to } }).deliver(events, new AbortController().signal);
    const ids = mails.map(({ text }) => /^Message-ID: (\S+)/m.exec(text)?.[1]);
    expect([ids[1] === ids[0], new Set(ids).size]).toEqual([true, 3]);
  });

  test("that is refused for one recipient is sent again to that one alone, unless it is refused for good", async () => {
    const refusedRecipients = new Map([["boss@example.net", 450]]);
    const { port, mails } = await serve({ security: "starttls", refusedRecipients });
    const channel = channelTo({ port });
    const deliver = (id: string) => outcomeOf(channel.deliver([sessionEvent({ id })], new AbortController().signal));
    const message = "1 of 2 recipients refused, EENVELOPE 450";
    expect(await deliver("one")).toMatchObject({ message, isFinal: false });
    refusedRecipients.clear();
    expect(await deliver("one")).toBe("sent");
    expect(await deliver("two")).toBe("sent");
    refusedRecipients.set("boss@example.net", 550);
    expect(await deliver("three")).toMatchObject({ isFinal: true });
    const [noc, boss] = ["noc@example.net", "boss@example.net"];
    expect(mails.map(({ to }) => to)).toEqual([[noc], [boss], [noc, boss], [noc]]);
    for (const { text } of mails) expect(text).toContain(`To: ${noc}, ${boss}\r\n`);
  });

  test("is broken off when its time is over, and the connection with it", async () => {
    const running = await serve({ security: "starttls", hangs: true });
    const time = new AbortController();
    const outcome = send({ port: running.port, signal: time.signal });
    await eventually(() => running.connections === 1, "no connection came");
    time.abort();
    expect(await outcome).toMatchObject({ name: "DeliveryFault" });
    await eventually(() => running.connections === 0, "the connection is still there");
  });

  test("reports a closed port, and a variable that is not set", async () => {
    expect(await send({ port: 1 })).toMatchObject({ message: "ECONNREFUSED" });
    const config = { usernameEnv: "ABSENT", passwordEnv: "PASSWORD" };
    expect(await send({ port: 1, config })).toMatchObject({ message: "the variable ABSENT is not set" });
  });

  test("does not let an event write headers", async () => {
    const { port, mails } = await serve({ security: "starttls" });
    const rejected = ban({ state: "rejected", reason: "no\r\nBcc: victim@example.net" });
    expect(await send({ port, event: banEvent({ kind: "ban_rejected", ban: rejected }) })).toBe("sent");
    expect(mails[0]?.text).toContain("Subject: Ban of 192.0.2.1 is refused: no Bcc: victim@example.net\r\n");
    expect(mails[0]?.to).not.toContain("victim@example.net");
  });
});
