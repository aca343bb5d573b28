import { GoQueueProcess } from 'test-servers';
import { apart } from '../apart.js';
import { IN_FLIGHT } from '../in-flight.js';
import { payloadOf } from '../payload.js';
import { withServers, type Servers } from '../servers.js';
import { FAR, roundOf, SPARE, type RoundSizes, type RoundTube } from './rounds.js';

/** As slow as an add may be, in ms. */
const SLOWEST_ADD = 0.1;

/** A tube of go-queue's dq, with producers and consumers that are processes in Go. */
export class GoQueueTube implements RoundTube {
  private tubes = 0;
  private stored = '';

  private constructor(
    private readonly program: string,
    private readonly servers: Servers,
  ) {}

  static use<T>(program: string, use: (tube: GoQueueTube) => Promise<T>): Promise<T> {
    return withServers(3, (servers) => use(new GoQueueTube(program, servers)));
  }

  add(jobs: number, atOnce: number): Promise<number> {
    return this.addTo(this.newTube(), { jobs, atOnce, due: Date.now() + FAR });
  }

  async store(jobs: number): Promise<number> {
    const due = this.afterAdding(jobs);
    this.stored = this.newTube();
    await this.addTo(this.stored, { jobs, atOnce: IN_FLIGHT, due });
    return due;
  }

  async drain(jobs: number): Promise<number> {
    const meter = await this.meter(this.stored, jobs);
    const { First, Last } = await meter.measured();
    await meter.kill();
    return (1000 * jobs) / (Last - First);
  }

  /**
   * As `drainRound`: consumers wait for jobs that are all due at one moment. As go-queue begins up to a second early, the time counts
   * from the first run where that is before this moment.
   */
  async drainDue(jobs: number): Promise<number> {
    const due = this.afterAdding(jobs);
    const tube = this.newTube();
    const meter = await this.meter(tube, jobs);
    await this.addTo(tube, { jobs, atOnce: IN_FLIGHT, due });
    const { First, Last } = await meter.measured();
    await meter.kill();
    return (1000 * jobs) / (Last - Math.min(First, due));
  }

  async lateness(rate: number, seconds: number): Promise<Float64Array> {
    const jobs = rate * seconds;
    const tube = this.newTube();
    const meter = await this.meter(tube, jobs);
    const due = this.afterAdding(jobs);
    await this.addTo(tube, { jobs, atOnce: IN_FLIGHT, due, every: 1_000_000 / rate });
    const { Late } = await meter.measured();
    await meter.kill();
    return Float64Array.from(Late);
  }

  private meter(tube: string, jobs: number): Promise<GoQueueProcess> {
    const redis = this.servers.redis.replace('redis://', '');
    return GoQueueProcess.meter(this.program, tube, redis, jobs, this.servers.beanstalks);
  }

  private addTo(
    tube: string,
    jobs: { readonly jobs: number; readonly atOnce: number; readonly due: number; readonly every?: number },
  ): Promise<number> {
    const { text } = payloadOf(jobs.jobs, jobs.due);
    return GoQueueProcess.addMany(this.program, tube, { ...jobs, text }, this.servers.beanstalks);
  }

  /** Returns a due time (ms since 1970) by which adding `jobs` jobs has ended. */
  private afterAdding(jobs: number): number {
    return Math.ceil(Date.now() + jobs * SLOWEST_ADD + SPARE);
  }

  private newTube(): string {
    return `tube-${++this.tubes}`;
  }
}

/** As `scheduleRate`, of go-queue. */
export const goScheduleRate = apart(import.meta.url, 'goScheduleRate', (program: string, jobs: number) =>
  GoQueueTube.use(program, (tube) => tube.add(jobs, IN_FLIGHT)),
);

/** As `drainRate`, of go-queue. */
export const goDrainRate = apart(import.meta.url, 'goDrainRate', (program: string, jobs: number) =>
  GoQueueTube.use(program, (tube) => tube.drainDue(jobs)),
);

/** A round on tubes of go-queue. */
export const goRound = apart(import.meta.url, 'goRound', (program: string, sizes: RoundSizes) =>
  GoQueueTube.use(program, (tube) => roundOf(tube, sizes)),
);
