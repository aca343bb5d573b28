import { GoQueueProcess } from 'test-servers';
import { payloadOf } from '../payload.js';
import { Servers } from '../servers.js';
import { FAR, SPARE, type RoundTube } from './rounds.js';

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

  static async use<T>(program: string, use: (tube: RoundTube) => Promise<T>): Promise<T> {
    const servers = await Servers.start(3);
    try {
      return await use(new GoQueueTube(program, servers));
    } finally {
      await servers.stop();
    }
  }

  add(jobs: number, atOnce: number): Promise<number> {
    return this.addTo(this.newTube(), { jobs, atOnce, due: Date.now() + FAR });
  }

  async store(jobs: number): Promise<number> {
    const due = Math.ceil(Date.now() + jobs * SLOWEST_ADD + SPARE);
    this.stored = this.newTube();
    await this.addTo(this.stored, { jobs, atOnce: 256, due });
    return due;
  }

  async drain(jobs: number): Promise<number> {
    const meter = await this.meter(this.stored, jobs);
    const { First, Last } = await meter.measured();
    await meter.kill();
    return (1000 * jobs) / (Last - First);
  }

  async lateness(rate: number, seconds: number): Promise<Float64Array> {
    const jobs = rate * seconds;
    const tube = this.newTube();
    const meter = await this.meter(tube, jobs);
    const due = Math.ceil(Date.now() + jobs * SLOWEST_ADD + SPARE);
    await this.addTo(tube, { jobs, atOnce: 256, due, every: 1_000_000 / rate });
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

  private newTube(): string {
    return `tube-${++this.tubes}`;
  }
}
