// A consumer process, of nest-dq or of BullMQ. It ends when the process that started it ends.
import { machineTime } from '../clock.js';
import { PRODUCTS } from '../systems/products.js';
import { pause } from '../waiting.js';
import type { ConsumerArguments, ConsumerReport } from './report.js';

/** Milliseconds between two reports. */
const REPORT_EVERY = 50;

const { product, places, queue, concurrency, handler } = JSON.parse(process.argv[2]!) as ConsumerArguments;
let count = 0;
let lastAt = 0;
let running = 0;
let busy = 0;
let countedTo = machineTime();

/** Adds the time that the handlers ran since the last call. */
function countTime(): number {
  const now = machineTime();
  busy += running * (now - countedTo);
  countedTo = now;
  return now;
}

async function work(): Promise<void> {
  running++;
  await pause(handler);
  countTime();
  running--;
}

function handle(): Promise<void> | undefined {
  count++;
  lastAt = countTime();
  return handler > 0 ? work() : undefined;
}

function report(): void {
  const at = countTime();
  const news: ConsumerReport = { at, count, lastAt, busy };
  process.send!(news);
}

process.on('disconnect', () => process.exit());
const client = await PRODUCTS[product].connect(places);
await client.consume(queue, handle, concurrency);
setInterval(report, REPORT_EVERY);
