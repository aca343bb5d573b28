import { connect } from 'node:net';
import { DqConsumer, DqProducer } from 'nest-dq';
import type { BeanstalkdServer } from 'test-servers';
import { startCluster } from './cluster.js';
import { ms, percentile } from './figures.js';

const SLOTS = 50;
const TAKEN = 46;
const SAMPLES = 400;
const TUBE = 'pickup';
/** Milliseconds. The long handlers come up again and again while new jobs are measured. */
const LONG = 10_000;
/** Milliseconds between two new jobs, at most. */
const PAUSE = 50;

interface Payload {
  /** Milliseconds to hold a slot; 0 for a new job whose pick-up is measured. */
  long: number;
  sentAt: number;
}

/**
 * How soon a new job starts while most slots hold long handlers: a lane that holds deliveries cannot wait for new ones,
 * so this is where a consumer would fall back to polling.
 */
export async function pickup(json: boolean): Promise<void> {
  const cluster = await startCluster();
  const producer = cluster.app.get(DqProducer);
  const consumer = cluster.app.get(DqConsumer);
  const samples: number[] = [];
  const fromReceipt: number[] = [];
  let long = 0;
  let mostConnections = 0;
  let started: () => void = () => undefined;
  const before = await Promise.all(cluster.beanstalkds.map(connections));

  await consumer.consume<Payload>(
    TUBE,
    async (payload, job) => {
      if (payload.long === 0) {
        samples.push(performance.now() - payload.sentAt);
        return started();
      }
      long++;
      started();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, payload.long);
        job.signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      });
      long--;
      if (!job.signal.aborted) await producer.now(TUBE, { long: LONG, sentAt: 0 });
    },
    { concurrency: SLOTS },
  );
  await new Promise<void>((resolve) => {
    started = () => long >= TAKEN && resolve();
    // Their first runs end one after the other, so that they do not all come up again at one moment.
    for (let i = 1; i <= TAKEN; i++) void producer.now(TUBE, { long: (LONG * i) / TAKEN, sentAt: 0 });
  });
  let acknowledged = 0;
  for (let i = 0; i < SAMPLES; i++) {
    acknowledged = Infinity;
    await new Promise<void>((resolve) => {
      const count = samples.length;
      started = () => samples.length > count && resolve();
      const sentAt = performance.now();
      void producer.now(TUBE, { long: 0, sentAt }).then(() => (acknowledged = performance.now() - sentAt));
    });
    await turn(); // a receipt may come after the start
    fromReceipt.push(Math.max(0, samples.at(-1)! - acknowledged));
    if (i % 50 === 0) {
      const now = await Promise.all(cluster.beanstalkds.map(connections));
      mostConnections = Math.max(mostConnections, ...now.map((count, node) => count - before[node]!));
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE));
  }
  await cluster.stop();

  const result = {
    bench: 'pickup',
    samples: samples.length,
    fromReceipt: figures(fromReceipt),
    fromCall: figures(samples),
    // Before the consumer there was one control connection a node.
    connectionsPerNode: mostConnections + 1,
  };
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else {
    process.stdout.write(
      `Pick-up of a new job, ${TAKEN} of ${SLOTS} slots in ${LONG / 1000} s handlers, 3 copies, ${samples.length} jobs one by one\n` +
        `  from its receipt     ${line(result.fromReceipt)}\n` +
        `  from the call of now ${line(result.fromCall)}\n` +
        `  connections a node   ${result.connectionsPerNode}\n`,
    );
  }
}

interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

function figures(values: readonly number[]): Figures {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99), max: percentile(values, 1) };
}

function line({ p50, p99, max }: Figures): string {
  return `p50 ${ms(p50)}   p99 ${ms(p99)}   max ${ms(max)}`;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

/** How many clients a node has, without the one that asks. */
async function connections({ host, port }: BeanstalkdServer): Promise<number> {
  const socket = connect({ host, port });
  const text = await new Promise<string>((resolve, reject) => {
    let read = '';
    socket.setEncoding('utf8');
    socket.on('error', reject);
    socket.on('data', (chunk: string) => {
      read += chunk;
      if (/current-connections: \d+\n/.test(read)) resolve(read);
    });
    socket.write('stats\r\n');
  });
  socket.destroy();
  return Number(/current-connections: (\d+)/.exec(text)![1]) - 1;
}
