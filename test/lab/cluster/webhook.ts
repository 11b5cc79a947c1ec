/**
 * A receiver of notifications in a namespace: prints `event ID ATTACK-ID TARGET` for each of an attack, so that they are
 * counted. ADDRESS and PORT.
 */
const [hostname = "127.0.0.1", port = "8999"] = process.argv.slice(2);

interface Notification {
  readonly event: string;
  readonly id: string;
  readonly attack?: { readonly id: string; readonly target: string };
}

Bun.serve({
  hostname,
  port: Number(port),
  async fetch(request) {
    const { event, id, attack } = (await request.json()) as Notification;
    if (attack !== undefined) console.log(`${event} ${id} ${attack.id} ${attack.target}`);
    return new Response(null, { status: 204 });
  },
});
console.log("ready");
