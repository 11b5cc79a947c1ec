/** The victim of the scrubbing lab: a web server on one address. Started in a namespace of its own; says `up` when it serves. */

const [address = "", port = ""] = process.argv.slice(2);
Bun.serve({
  hostname: address,
  port: Number(port),
  fetch: ({ url }) => new Response(`served ${new URL(url).pathname}`),
});
console.log("up");
