// Prints what one plain job passes on its way from `delay` to the end of its run: the library's files and functions, in the order of
// their first call. It leaves out what an idle process calls as often, and what only some of several equal jobs pass: a ping, a touch
// or a retry that happened to fall into their time. Three beanstalkds, a Redis, one handler.
import { register } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBeanstalkd, startRedis } from 'test-servers';

let calls = new Map();
globalThis.__road = (name) => {
  calls.set(name, (calls.get(name) ?? 0) + 1);
};
/** The calls since the last time, in the order of the first of each function. */
function take() {
  const taken = calls;
  calls = new Map();
  return taken;
}

register('./hooks.mjs', import.meta.url);
await import('reflect-metadata');
const { Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { DqConsumer, DqModule, DqProducer } = await import('nest-dq');

const nodes = await Promise.all([1, 2, 3].map(() => startBeanstalkd()));
const redis = await startRedis();
class Road {}
Module({
  imports: [
    DqModule.forRoot({
      beanstalks: nodes.map(({ port }) => `127.0.0.1:${port}`),
      redis: `redis://127.0.0.1:${redis.port}`,
    }),
  ],
})(Road);
const app = await NestFactory.createApplicationContext(Road, { logger: ['error'] });
const producer = app.get(DqProducer);
let ran = () => {};
await app.get(DqConsumer).consume('road', () => ran());
const run = () => new Promise((resolve) => (ran = resolve));

// One-time work, such as opening the first connections, is no part of the road.
for (let warmUp = 0; warmUp < 3; warmUp++) {
  const done = run();
  await producer.delay('road', { x: 1 }, '1s');
  await done;
}
const JOBS = 3;
const QUIET_AFTER_MS = 8_000; // a tube that had jobs is quiet again
await sleep(QUIET_AFTER_MS);
take();
await sleep(7_000);
const idle = take();
let add;
let afterwards;
for (let job = 0; job < JOBS; job++) {
  await producer.delay('road', { x: 1 }, '3s');
  add = both(add, take().keys());
  await run();
  await sleep(300); // the completion and the deletions
  const calls = [...take()].filter(([name, count]) => count > (idle.get(name) ?? 0));
  afterwards = both(
    afterwards,
    calls.map(([name]) => name),
  );
  await sleep(QUIET_AFTER_MS);
  take();
}

const whole = new Set([...add, ...afterwards]);
if (process.argv.includes('--list')) {
  list('The add', add);
  list('The run', afterwards);
}
console.log(`the add:  ${sum(add)}`);
console.log(`the run:  ${sum(afterwards)}`);
console.log(`together: ${sum(whole)}`);
await app.close();
await Promise.all([...nodes, redis].map((server) => server.stop()));

/** Returns the names in both; all of `names` at first. */
function both(before, names) {
  const all = new Set(names);
  return before ? [...before].filter((name) => all.has(name)) : [...all];
}

function fileOf(name) {
  return name.slice(0, name.indexOf('#'));
}

function sum(names) {
  const all = [...names];
  return `${new Set(all.map(fileOf)).size} files, ${all.length} functions`;
}

function list(title, names) {
  console.log(`${title}\n`);
  let last;
  for (const name of names) {
    const file = fileOf(name);
    if (file !== last) console.log(file);
    last = file;
    console.log(`    ${name.slice(file.length + 1, name.lastIndexOf('@'))}`);
  }
  console.log('');
}
