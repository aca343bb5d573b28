// An application on a folder that schedules, revokes and runs jobs without rest, for a test that kills it at any instant.
// It prints a line of JSON with the state of the jobs it was given, then one before and after each call.
import 'reflect-metadata';
import { readFileSync, writeSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { Discard, DqConsumer, DqEvents, DqModule, DqProducer } from 'nest-dq';

const [dir, receiptsFile, full] = process.argv.slice(2);
/** To a file this is synchronous. */
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const any = (count) => Math.floor(Math.random() * count);

/** Where the folder is to become full: ends with the first error that is logged. */
const endingLogger = {
  log: () => undefined,
  warn: () => undefined,
  error: (message) => {
    print({ kind: 'failed', message });
    process.exit(3);
  },
};
const options = { embedded: { dir }, ...(full && { logger: endingLogger }) };
const app = await NestFactory.createApplicationContext(DqModule.forRoot(options), {
  logger: false,
  abortOnError: false,
});
const dq = app.get(DqProducer);
const events = app.get(DqEvents);

const known = JSON.parse(readFileSync(receiptsFile, 'utf8'));
const found = await Promise.all(
  known.map(async ({ id, ref }) => ({ id, state: (await dq.find(ref))?.state ?? 'unknown' })),
);
print({ kind: 'found', jobs: found });
writeSync(3, 'ready');

events.on('started').subscribe(({ job }) => print({ kind: 'started', id: job.id }));
events.on('completed').subscribe(({ job }) => print({ kind: 'ended', id: job.id, state: 'done' }));
events.on('dead').subscribe(({ letter }) => print({ kind: 'ended', id: letter.id, state: 'dead' }));
await app.get(DqConsumer).consume('work', async ({ fails }) => {
  await new Promise((resolve) => setTimeout(resolve, any(20)));
  return fails ? Discard.because('it was asked for') : undefined;
});

const waiting = [];
let count = 0;

async function add() {
  const work = any(2) === 0;
  const options = any(2) === 0 ? { key: `${process.pid}-${count++}` } : {};
  const receipt = work
    ? await dq.now('work', { fails: any(4) === 0 }, options)
    : await dq.delay('later', { text: 'x'.repeat(any(500)) }, '1h', options);
  print({ kind: 'added', id: receipt.id, ref: receipt.ref, waits: !work });
  if (!work) waiting.push(receipt);
}

async function revoke() {
  const [{ id, ref }] = waiting.splice(any(waiting.length), 1);
  print({ kind: 'revoke', id });
  const answer = await dq.revoke(ref);
  if (answer !== 'revoked') throw new Error(`the revoke was answered ${answer}`);
  print({ kind: 'revoked', id });
}

for (let index = 0; index < 5; index++) {
  const work = async () => {
    for (;;) await (waiting.length < 5 || any(3) > 0 ? add() : revoke());
  };
  void work();
}
