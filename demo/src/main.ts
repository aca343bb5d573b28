// npm run demo: a scenario that runs by itself and checks the library from outside. Exit status: 0 all promises held,
// 1 a promise was broken or the demo failed, 2 invalid arguments, 130 ended by a signal.
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
import { streamDemo } from './stream/stream-demo.js';
import { isClean } from './tally.js';

const USAGE = `Usage: npm run demo [-- --cluster | --kafka]

Schedules a few hundred jobs, revokes some, makes some fail at first, and compares what came out with what went in.

  --cluster  use three real beanstalkds and a Redis, started by the demo; one node is killed and comes back
             (default: the node and ledger inside the process)
  --kafka    a stream of orders instead of jobs, on a real Kafka broker started by the demo; a consumer and the broker
             are killed while orders arrive
  --help     show this help`;

interface Flags {
  cluster: boolean;
  kafka: boolean;
  help: boolean;
}

function readFlags(): Flags | undefined {
  try {
    const { values } = parseArgs({
      options: {
        cluster: { type: 'boolean', default: false },
        kafka: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.cluster && values.kafka) throw new Error('Expected --cluster or --kafka, got both');
    return values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return undefined;
  }
}

async function jobsDemo(screen: Screen, onCluster: boolean, signal: AbortSignal): Promise<boolean> {
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
    const screen = new Screen(process.stdout);
    const held = flags.kafka
      ? await streamDemo(screen, ending.signal)
      : await jobsDemo(screen, flags.cluster, ending.signal);
    return held ? 0 : 1;
  } catch (error) {
    if (ending.signal.aborted) return 130;
    console.error(error);
    return 1;
  }
}

process.exitCode = await main();
