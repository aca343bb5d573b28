// A node on a folder and clients that never rest, for a test that kills it at any instant. It prints a line of JSON for all
// that it found at its start, then one before each operation and one when the operation was acknowledged.
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { EmbeddedNode } from 'nest-dq/embedded';

const [dir, lastId, name] = process.argv.slice(2);
const CLIENTS = 8;

/** To a file this is synchronous. */
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
/** Bodies are printed by their hashes, so that the node's own files are the largest. */
const hash = (body) => createHash('sha1').update(body, 'latin1').digest('base64');
const any = (count) => Math.floor(Math.random() * count);
const pick = (items) => items[any(items.length)];

/** One connection, one command at a time. Bodies have no line's end in them. */
class Client {
  waiting = [];
  parts = [];
  rest = '';

  constructor(stream) {
    this.stream = stream;
    stream.setEncoding('latin1');
    stream.on('data', (text) => {
      const lines = (this.rest + text).split('\r\n');
      this.rest = lines.pop();
      for (const line of lines) this.take(line);
    });
  }

  ask(command) {
    this.stream.write(`${command}\r\n`);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  take(line) {
    this.parts.push(line);
    if (this.parts.length === 1 && /^(OK|FOUND|RESERVED) /.test(line)) return;
    this.waiting.shift()(this.parts.splice(0));
  }
}

process.on('SIGXFSZ', () => undefined); // a file that may not grow: the write then fails
const node = await EmbeddedNode.open({ dir });
node.closed.catch(({ message }) => {
  print({ kind: 'failed', message });
  process.exit(3);
});
const client = () => new Client(node.dial());

/** Ids were assigned up to `lastId`, and some beyond it that were never reported. */
async function dump() {
  const looking = client();
  const jobs = [];
  for (let first = 1; first <= Number(lastId) + 500; first += 500) {
    const ids = Array.from({ length: 500 }, (_, index) => first + index);
    const found = await Promise.all(ids.map(async (id) => [id, ...(await looking.ask(`peek ${id}`))]));
    for (const [id, reply, body] of found) {
      if (reply === 'NOT_FOUND') continue;
      const stats = (await looking.ask(`stats-job ${id}`))[1];
      const of = (field) => new RegExp(`^${field}: (.*)$`, 'm').exec(stats)[1];
      jobs.push({ id, body: hash(body), state: of('state'), pri: Number(of('pri')) });
    }
  }
  print({ kind: 'found', jobs });
  return jobs.map(({ id, state }) => ({ id, state }));
}

const jobs = await dump();
writeSync(3, 'ready');
let count = 0;

async function put(worker) {
  const body = `${name}-${count++}-${'x'.repeat(any(3) === 0 ? any(20_000) : any(200))}`;
  const [pri, delay] = [any(1_000), any(2) * 3_600];
  const state = delay > 0 ? 'delayed' : 'ready';
  print({ kind: 'put', body: hash(body), pri, state });
  const [reply] = await worker.ask(`put ${pri} ${delay} 3600 ${body.length}\r\n${body}`);
  const id = Number(/^INSERTED (\d+)$/.exec(reply)[1]);
  print({ kind: 'inserted', body: hash(body), id });
  jobs.push({ id, state });
}

/** One that nobody else works with is taken out, and put back if it lives on. */
async function change(worker) {
  const index = any(jobs.length);
  const job = jobs[index];
  jobs[index] = jobs.at(-1);
  jobs.pop();
  const pri = any(1_000);
  const operation =
    job.state === 'ready'
      ? pick(['delete', 'bury', 'release', 'delay'])
      : pick(['delete', 'kick', 'delete', 'bury']);
  const becomes = { delete: 'gone', bury: 'buried', release: 'ready', delay: 'delayed', kick: 'ready' }[
    operation
  ];
  print({ kind: 'change', id: job.id, becomes, pri: operation === 'kick' ? undefined : pri });
  const replies = [];
  if (operation === 'delete') replies.push(await worker.ask(`delete ${job.id}`));
  else if (operation === 'kick') replies.push(await worker.ask(`kick-job ${job.id}`));
  else {
    replies.push(await worker.ask(`reserve-job ${job.id}`));
    const command = operation === 'bury' ? `bury ${job.id} ${pri}` : `release ${job.id} ${pri} `;
    replies.push(await worker.ask(command + { bury: '', release: '0', delay: '3600' }[operation]));
  }
  if (!/^(DELETED|KICKED|BURIED|RELEASED)$/.test(replies.at(-1)[0]))
    throw new Error(`${operation}: ${replies.join()}`);
  print({ kind: 'changed', id: job.id });
  job.state = becomes;
  if (becomes !== 'gone') jobs.push(job);
}

for (let index = 0; index < CLIENTS; index++) {
  const worker = client();
  const work = async () => {
    for (;;) await (jobs.length < 20 || any(3) === 0 ? put(worker) : change(worker));
  };
  void work();
}
