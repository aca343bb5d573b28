// A process that replaces the job of one key again and again. It ends when the process that started it ends.
import { payloadOf } from '../payload.js';
import { nestDq } from '../systems/nest-dq.js';
import type { ReplacerArguments, ReplacerReport } from './report.js';

/** Milliseconds between two checks of how many adds are due by the rate. */
const LOOK_EVERY = 5;
const REPORT_EVERY = 100;
/** The most adds in flight: a cluster that is too slow for the rate gets no more. */
const IN_FLIGHT = 256;

const { places, queue, key, rate, delay } = JSON.parse(process.argv[2]!) as ReplacerArguments;
let begun = 0;
let stored = 0;
let failed = 0;
let error: string | undefined;

async function replace(): Promise<void> {
  try {
    await client.delay(queue, payloadOf(begun++), delay, key);
    stored++;
  } catch (cause) {
    failed++;
    error = (cause as Error).message;
  }
}

function catchUp(): void {
  const owed = Math.floor(((performance.now() - from) * rate) / 1000);
  while (begun < owed && begun - stored - failed < IN_FLIGHT) void replace();
}

function report(): void {
  const news: ReplacerReport = { stored, failed, ...(error !== undefined && { error }) };
  process.send!(news);
}

process.on('disconnect', () => process.exit());
const client = await nestDq.connect(places);
const from = performance.now();
report();
setInterval(catchUp, LOOK_EVERY);
setInterval(report, REPORT_EVERY);
