/** A minimal HTTP server: one listener, one function, the bytes of its argument. Prints its port. */

const { body, headers } = JSON.parse(Bun.argv[2] ?? "") as { body: string; headers: [string, string][] };
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
console.log(server.port);
