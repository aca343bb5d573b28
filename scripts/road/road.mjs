// Prints what one plain job passes on its way from `delay` to the end of its run: the library's files and functions, in the order of
// their first call, without those that an idle process calls as often. Three beanstalkds, a Redis, one handler.
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

// What happens once only, such as the first connections, is no part of the road.
for (let warmUp = 0; warmUp < 3; warmUp++) {
  const done = run();
  await producer.delay('road', { x: 1 }, '1s');
  await done;
}
await sleep(8_000); // until a tube that had jobs is quiet again
take();
await sleep(7_000);
const idle = take();
await producer.delay('road', { x: 1 }, '3s');
const add = take();
await run();
await sleep(300); // the completion and the deletions
const afterwards = new Map([...take()].filter(([name, count]) => count > (idle.get(name) ?? 0)));

const whole = new Set([...add.keys(), ...afterwards.keys()]);
if (process.argv.includes('--list')) {
  list('The add', add.keys());
  list('The run', afterwards.keys());
}
console.log(`the add:  ${sum(add.keys())}`);
console.log(`the run:  ${sum(afterwards.keys())}`);
console.log(`together: ${sum(whole)}`);
await app.close();
await Promise.all([...nodes, redis].map((server) => server.stop()));

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
