// npm run demo: a scenario that runs by itself and checks the library from outside. Exit status: 0 all promises held,
// 1 a promise was broken or the demo failed, 2 wrong arguments, 130 ended by a signal.
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { DqProducer } from 'nest-dq';
import { DemoCluster } from './demo-cluster.js';
import { DemoModule } from './demo.module.js';
import { report } from './report.js';
import { RunLog } from './run-log.js';
import { Scenario } from './scenario.js';
import { Screen } from './screen.js';
import { isClean } from './tally.js';

const USAGE = `Usage: npm run demo [-- --cluster]

Schedules some hundred jobs, revokes some, lets some fail at first, and compares what came out with what went in.

  --cluster  on three real beanstalkds and a Redis, which it starts itself; one node is killed and comes back
             (without it: on the node and ledger that live in the process)
  --help     this text`;

interface Flags {
  cluster: boolean;
  help: boolean;
}

function readFlags(): Flags | undefined {
  try {
    const { values } = parseArgs({
      options: { cluster: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
    });
    return values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return undefined;
  }
}

async function demo(onCluster: boolean, signal: AbortSignal): Promise<boolean> {
  const screen = new Screen(process.stdout);
  const cluster = onCluster ? await DemoCluster.start() : undefined;
  try {
    signal.throwIfAborted();
    const app = await NestFactory.createApplicationContext(
      DemoModule.forRoot({ ...cluster?.options, logger: screen }),
      { logger: ['warn', 'error'] },
    );
    try {
      const scenario = new Scenario(app.get(DqProducer), app.get(RunLog), screen, cluster, signal);
      const tally = await scenario.play();
      screen.end();
      console.log(report(tally));
      return isClean(tally);
    } finally {
      screen.end();
      await app.close();
    }
  } finally {
    await cluster?.stop();
  }
}

async function main(): Promise<number> {
  const flags = readFlags();
  if (!flags) return 2;
  if (flags.help) {
    console.log(USAGE);
    return 0;
  }
  const ending = new AbortController();
  // `once`, so that a second Ctrl-C ends this process at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  try {
    return (await demo(flags.cluster, ending.signal)) ? 0 : 1;
  } catch (error) {
    if (ending.signal.aborted) return 130;
    console.error(error);
    return 1;
  }
}

process.exitCode = await main();
