/** Sends mail through an SMTP server. If STARTTLS is configured, nothing is sent to a server that does not offer it. */
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import type { Channel, ChannelContext } from "./channel.ts";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import { digest } from "./digest.ts";
import type { NotifyEvent } from "./event.ts";
import type { EmailConfig } from "./notify-config.ts";
import { secretOf } from "./secret.ts";

/** Servers that check mail closely may answer slowly. */
const DEADLINE_MS = 30_000;

/** A mail, and who has not got it. */
interface Mail {
  readonly id: string;
  readonly recipients: readonly string[];
}

export function emailChannel(config: EmailConfig, context: ChannelContext): Channel {
  // The last one: when it is tried again, it goes to those alone who were refused.
  let last: Mail | null = null;
  return {
    audience: "people",
    deadlineMs: DEADLINE_MS,
    async deliver(events, signal) {
      const id = messageIdOf(events, config);
      const mail: Mail = last?.id === id ? last : { id, recipients: config.to };
      const refused = await send(mail, { events, config, context, signal });
      last = { id, recipients: refused.map(({ recipient }) => recipient) };
      if (refused.length > 0) throw refusalOf(refused, mail);
    },
  };
}

/**
 * The same at each attempt, and another one with other events or recipients: mailboxes leave out a mail whose id they have
 * (RFC 5322, section 3.6.4).
 */
function messageIdOf(events: readonly NotifyEvent[], { from, to }: EmailConfig): string {
  const said = [...events.map(({ id }) => id), ...to].join(" ");
  const digits = createHash("sha256").update(said).digest("hex").slice(0, 32);
  return `<${digits}@${from.split("@")[1] ?? "floodwall"}>`;
}

interface Sending {
  readonly events: readonly NotifyEvent[];
  readonly config: EmailConfig;
  readonly context: ChannelContext;
  readonly signal: AbortSignal;
}

interface Refused {
  readonly recipient: string;
  /** Status of SMTP. */
  readonly status: number;
}

/** The answer of nodemailer about a mail that the server took for one recipient at least. */
interface Taken {
  readonly rejectedErrors?: readonly { readonly recipient?: string; readonly responseCode?: number }[];
}

/** Returns the recipients that the server refused, while it took the mail for others. */
async function send(
  { id, recipients }: Mail,
  { events, config, context, signal }: Sending,
): Promise<readonly Refused[]> {
  const { subject, text } = digest(events, context);
  const auth = account(config, context);
  // An own socket, so that the delivery can be aborted at any moment.
  const socket = await connected(config, signal);
  const abort = () => socket.destroy();
  signal.addEventListener("abort", abort);
  try {
    const transport = createTransport({
      host: config.host,
      port: config.port,
      connection: socket,
      secure: config.security === "tls",
      requireTLS: config.security === "starttls",
      ignoreTLS: config.security === "none",
      disableFileAccess: true,
      disableUrlAccess: true,
      socketTimeout: DEADLINE_MS,
      ...(auth === null ? {} : { auth }),
      ...(context.authority === null ? {} : { tls: { ca: context.authority } }),
    });
    const { rejectedErrors = [] } = (await transport.sendMail({
      envelope: { from: config.from, to: [...recipients] },
      from: config.from,
      to: [...config.to],
      subject,
      text,
      messageId: id,
      headers: { "auto-submitted": "auto-generated" },
    })) as Taken;
    return rejectedErrors.map(({ recipient = "", responseCode: status = 0 }) => ({ recipient, status }));
  } catch (cause) {
    throw mailFault(cause);
  } finally {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  }
}

function account({ usernameEnv, passwordEnv }: EmailConfig, { environment }: ChannelContext) {
  if (usernameEnv === null && passwordEnv === null) return null;
  return {
    user: usernameEnv === null ? "" : secretOf(environment, usernameEnv),
    pass: passwordEnv === null ? "" : secretOf(environment, passwordEnv),
  };
}

function connected({ host, port }: EmailConfig, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const abort = () => socket.destroy(new DeliveryFault("no connection in time"));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", (cause) => reject(deliveryFault(cause)));
    socket.once("connect", () => {
      signal.removeEventListener("abort", abort);
      resolve(socket);
    });
  });
}

/** Final where no later attempt would change it for any of them. */
function refusalOf(refused: readonly Refused[], { recipients }: Mail): DeliveryFault {
  const status = Math.min(...refused.map((one) => one.status));
  const message = `${refused.length} of ${recipients.length} recipients refused, EENVELOPE ${status}`;
  return new DeliveryFault(message, { isFinal: status >= 500 });
}

/** The server's text may contain the account, so only its code is used. A 5xx answer to the mail itself is final. */
function mailFault(cause: unknown): DeliveryFault {
  const { message } = deliveryFault(cause);
  const status = cause instanceof Error && "responseCode" in cause ? cause.responseCode : null;
  if (typeof status !== "number") return new DeliveryFault(message);
  return new DeliveryFault(`${message} ${status}`, { isFinal: status >= 500 && message !== "EAUTH" });
}
