// The work that both nest-dq and go-queue do on one tube, and how it is measured.
import { apart } from '../apart.js';
import { alignClock, machineTime } from '../clock.js';
import { IN_FLIGHT, inFlight } from '../in-flight.js';
import { latenessRound } from '../lateness-round.js';
import { payloads, type Payload } from '../payload.js';
import { RunCount } from '../run-count.js';
import { CONCURRENCY } from '../drain-round.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';
import { pauseUntil } from '../waiting.js';

/** Milliseconds: so long that no job comes due. */
export const FAR = 3_600_000;
/** Milliseconds. Both round the delays of beanstalkd to whole seconds, so a job surfaces within so long of its time. */
const ROUNDING = 1_000;
/** Milliseconds between the last add of a backlog, or of jobs for the lateness, and the first that is due. */
export const SPARE = 2_000;

/** One tube of a system with three nodes and a Redis of its own. */
export interface RoundTube {
  /** Adds jobs due in an hour, `atOnce` in flight. Resolves with jobs a second. */
  add(jobs: number, atOnce: number): Promise<number>;
  /** Adds jobs that are all due soon. Resolves with their time, in ms since 1970. */
  store(jobs: number): Promise<number>;
  /** Starts a consumer. Resolves with the jobs a second from the first run to the last. */
  drain(jobs: number): Promise<number>;
  /** Resolves with how late each of these jobs began, in ms; negative: early. */
  lateness(rate: number, seconds: number): Promise<Float64Array>;
}

/** No consumer is there before all jobs are due. So neither gains from the rounding of delays. */
async function backlogRound(tube: RoundTube, jobs: number): Promise<number> {
  const due = await tube.store(jobs);
  await pauseUntil(due + ROUNDING);
  return tube.drain(jobs);
}

/** How many jobs a round adds one by one and at once, has as a backlog, and runs in time. */
export interface RoundSizes {
  readonly one: number;
  readonly many: number;
  readonly due: number;
  /** Jobs a second, for `seconds`. */
  readonly rate: number;
  readonly seconds: number;
}

export type TubeRound = Awaited<ReturnType<typeof roundOf>>;

export async function roundOf(tube: RoundTube, { one, many, due, rate, seconds }: RoundSizes) {
  await tube.add(one, 1); // a single job goes other ways than many, which the warm-up had
  return {
    sequential: await tube.add(one, 1),
    atOnce: await tube.add(many, IN_FLIGHT),
    backlog: await backlogRound(tube, due),
    late: await tube.lateness(rate, seconds),
  };
}

/** A round on tubes of nest-dq. */
export const nestRound = apart(import.meta.url, 'nestRound', (product: ProductName, sizes: RoundSizes) =>
  withSystem(product, (system) => roundOf(new NestTube(system), sizes)),
);

class NestTube implements RoundTube {
  private stored = '';

  constructor(private readonly system: System) {}

  async add(jobs: number, atOnce: number): Promise<number> {
    const { client, newQueue } = this.system;
    const queue = newQueue();
    const all = payloads(jobs);
    const from = performance.now();
    await inFlight(all, (payload) => client.delay(queue, payload, FAR), atOnce);
    return (1000 * jobs) / (performance.now() - from);
  }

  async store(jobs: number): Promise<number> {
    const { client, newQueue, addsPerSecond } = this.system;
    alignClock();
    this.stored = newQueue();
    const due = Math.ceil(machineTime() + (1000 * jobs) / addsPerSecond + SPARE);
    await inFlight(payloads(jobs, due), (payload) => client.at(this.stored, payload));
    return due;
  }

  async drain(jobs: number): Promise<number> {
    const runs = new RunCount(jobs);
    let first = 0;
    const handle = (payload: Payload) => {
      first ||= machineTime();
      runs.add(payload);
    };
    const stop = await this.system.client.consume(this.stored, handle, CONCURRENCY);
    await runs.done;
    await stop();
    return (1000 * jobs) / (runs.lastAt - first);
  }

  async lateness(rate: number, seconds: number): Promise<Float64Array> {
    return (await latenessRound(this.system, { rate, seconds, handler: 0 })).samples;
  }
}
