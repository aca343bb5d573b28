// Starts an application that fails to start, and ignores the error. Then it has nothing to do, so this process ends by itself
// unless the application left something open. It prints the error, and then whether the folder of the application is free.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DqModule } from 'nest-dq';
import { EmbeddedNode } from 'nest-dq/embedded';

const [fault, dir, servers] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

function handlerOf(...tubes) {
  class Handlers {
    run() {}
  }
  for (const tube of tubes) {
    const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run');
    DelayedHandler(tube, { cluster: 'second' })(Handlers.prototype, 'run', descriptor);
  }
  return Handlers;
}

const throwing = (where) => () => {
  throw new Error(`it fails in ${where}`);
};
const ticking = {
  onStart: () => {
    const timer = setInterval(() => undefined, 1_000);
    return () => clearInterval(timer);
  },
};

/** The library with the folder, for the faults below. */
const folder = (options = {}) => DqModule.forRoot({ embedded: { dir }, ...options });
const second = (options = {}) => DqModule.forRoot({ name: 'second', ...JSON.parse(servers), ...options });
const faults = {
  'a provider': () => [[folder(), second()], [{ provide: 'broken', useFactory: throwing('a provider') }]],
  'wrong options': () => [[folder(), second({ advanced: { lease: '1s' } })], []],
  'two handlers': () => [[folder(), second()], [handlerOf('one', 'one')]],
  'a hook': () => [[folder(), second({ hooks: [ticking, { onStart: throwing('a hook') }] })], []],
  'a folder in use': () => [[folder(), second(), folder({ name: 'third' })], []],
};

const [imports, providers] = faults[fault]();
class App {}
Module({ imports, providers })(App);
try {
  await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
} catch (error) {
  print({ error: error.message });
}
const node = await EmbeddedNode.open({ dir });
await node.close();
print({ free: true });
