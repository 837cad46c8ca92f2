// Sends commands with ioredis to two servers: input and output as those of redis_py_client.py.

const { readFileSync } = require("node:fs");
const { Redis, Command } = require(process.argv[2]);

const AT_ONCE = 40;
Command.setReplyTransformer("hgetall", (reply) => reply);

function plain(answer) {
  if (Buffer.isBuffer(answer)) return answer.toString("hex");
  if (Array.isArray(answer)) return answer.map(plain);
  return answer instanceof Error ? answer.message : answer;
}

async function answers(port, commands) {
  const client = new Redis({ port });
  const found = [];
  for (let start = 0; start < commands.length; start += AT_ONCE) {
    const sent = commands.slice(start, start + AT_ONCE);
    const told = sent.map(([name, ...others]) => client.callBuffer(name.toString("latin1"), ...others));
    for (const one of await Promise.allSettled(told)) found.push(plain(one.reason ?? one.value));
  }
  client.disconnect();
  return found;
}

async function main() {
  const [ports, listed] = JSON.parse(readFileSync(0, "utf8"));
  const commands = listed.map((one) => one.map((text) => Buffer.from(text, "hex")));
  const found = [];
  for (const port of ports) found.push(await answers(port, commands));
  process.stdout.write(JSON.stringify(found));
}

main();
