/** Sends each datagram back to where it came from, after a time. PORT on the loopback, and MILLISECONDS. */
const [port = "", ms = ""] = process.argv.slice(2);

const socket = await Bun.udpSocket({
  hostname: "127.0.0.1",
  port: Number(port),
  socket: {
    data(_, datagram, fromPort, from) {
      const copy = Buffer.from(datagram);
      setTimeout(() => socket.send(copy, fromPort, from), Number(ms));
    },
  },
});
console.log("ready");
