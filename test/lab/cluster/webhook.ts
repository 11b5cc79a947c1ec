/** A receiver of notifications in a namespace: prints `event ID` for each, so that they are counted. ADDRESS and PORT. */
const [hostname = "127.0.0.1", port = "8999"] = process.argv.slice(2);

Bun.serve({
  hostname,
  port: Number(port),
  async fetch(request) {
    const { event, id } = (await request.json()) as { event?: string; id?: string };
    console.log(`${event} ${id}`);
    return new Response(null, { status: 204 });
  },
});
console.log("ready");
