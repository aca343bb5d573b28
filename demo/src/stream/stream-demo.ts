import { NestFactory } from '@nestjs/core';
import { KqModule, KqPusher } from 'nest-kq';
import { startKafka, tableLine } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';
import type { Screen } from '../screen.js';
import { ConsumerProcess } from './consumer-process.js';
import type { ConsumerWord } from './consumer.js';
import { Orders } from './order-topic.js';
import { StreamScenario } from './stream-scenario.js';
import { isCleanStream, type StreamEntry, type StreamTally } from './stream-tally.js';

const PARTITIONS = 6;

/** Plays the stream on a broker of its own, and prints what came of it. Resolves with whether every promise held. */
export async function streamDemo(screen: Screen, signal: AbortSignal): Promise<boolean> {
  screen.say('starting a Kafka broker (downloaded the first time)');
  const broker = await startKafka();
  const log: StreamEntry[] = [];
  const heard = (name: string) => (word: ConsumerWord) => {
    if (word.what === 'said') screen.log(`${name}: ${word.line}`);
    else if (word.what !== 'ready') log.push(word);
  };
  const consumer = (name: string) => new ConsumerProcess(broker.endpoint, heard(name));
  const consumers = [consumer('consumer 1'), consumer('consumer 2')] as const;
  try {
    signal.throwIfAborted();
    await createTopic([broker.endpoint], { topic: Orders.name, numPartitions: PARTITIONS });
    const app = await NestFactory.createApplicationContext(
      KqModule.forRoot({ brokers: [broker.endpoint], consume: false, logger: screen }),
      { logger: ['warn', 'error'] },
    );
    try {
      const tally = await new StreamScenario(
        app.get(KqPusher),
        broker,
        consumers,
        log,
        screen,
        signal,
      ).play();
      screen.end();
      console.log(report(tally));
      return isCleanStream(tally);
    } finally {
      screen.end();
      await Promise.all([app.close(), ...consumers.map((each) => each.stop())]);
    }
  } finally {
    await broker.stop();
  }
}

function report(tally: StreamTally): string {
  const rows: [string, number][] = [
    ['stored', tally.stored],
    ['handled', tally.handled],
    ['runs that failed', tally.failed],
    ['handled more than once', tally.again],
    ['lost', tally.lost],
    ['out of order', tally.outOfOrder],
  ];
  const lines = rows.map(([name, value]) => tableLine([`  ${name}`, String(value)], [26, 9], ''));
  const verdict = isCleanStream(tally)
    ? "Nothing was lost, and each customer's orders were handled in order."
    : 'A promise was broken: see lost and out of order.';
  const again =
    tally.again > 0 ? ['Handled more than once: messages a killed process had not committed.'] : [];
  return ['', ...lines, '', verdict, ...again].join('\n');
}
