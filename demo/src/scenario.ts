import { setTimeout as sleep } from 'node:timers/promises';
import type { DqProducer } from 'nest-dq';
import type { DemoCluster } from './demo-cluster.js';
import { DemoJob } from './demo.module.js';
import { plan, type PlannedJob } from './plan.js';
import type { RunLog } from './run-log.js';
import type { Screen } from './screen.js';
import type { Tally } from './tally.js';

const JOBS = 330;
/** Milliseconds after the start. The first job must come due after a node was killed. */
const FIRST_DUE = 3_000;
const LAST_DUE = 9_000;
/** Milliseconds after the last due time. By then all jobs have run, also after two retries and from a backup. */
const DONE_LIMIT = 20_000;
/** Milliseconds after the restart of the node. By then the copies of finished jobs are deleted there. */
const EMPTY_LIMIT = 20_000;
/** Milliseconds in which a second run would show. */
const QUIET = 2_000;
const LOOK_EVERY = 100;

interface Revocation {
  readonly job: number;
  readonly ref: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Schedules and revokes jobs, kills a node if there is a cluster, and waits until all jobs are over. */
export class Scenario {
  private readonly begin = Date.now();

  constructor(
    private readonly dq: DqProducer,
    private readonly log: RunLog,
    private readonly screen: Screen,
    private readonly cluster: DemoCluster | undefined,
    /** Ends the scenario: `play` rejects when it aborts. */
    private readonly signal: AbortSignal,
  ) {}

  async play(): Promise<Tally> {
    const jobs = plan(JOBS, FIRST_DUE, LAST_DUE);
    const later = jobs.filter(({ add }) => add !== 'now');
    const now = jobs.filter(({ add }) => add === 'now');

    this.screen.say(`scheduled ${later.length} jobs for the next seconds; revoking some`);
    const revocations = (await Promise.all(later.map((job) => this.schedule(job)))).flat();
    if (this.cluster) await this.kill(this.cluster);
    this.screen.say(`scheduled ${now.length} jobs for now`);
    await Promise.all(now.map((job) => this.add(job)));
    await Promise.all([this.revokeInTime(revocations), this.untilAllIsOver()]);

    if (this.cluster) await this.restart(this.cluster);
    await this.until(() => false, Date.now() + QUIET);
    return this.log.tally();
  }

  /** Adds the job, and revokes it at once if that is planned. Returns the revocation if it is planned for later. */
  private async schedule(planned: PlannedJob): Promise<Revocation[]> {
    const { job, revoke } = planned;
    const ref = await this.add(planned);
    if (revoke === undefined) return [];
    if (revoke > 0) return [{ job, ref, at: this.begin + revoke }];
    await this.revoke(job, ref);
    return [];
  }

  private async add({ job, add, due, failures }: PlannedJob): Promise<string> {
    const payload = { job, failures };
    const now = Date.now();
    const when = add === 'now' ? now : this.begin + due;
    this.log.asked(job, when);
    const receipt =
      add === 'now'
        ? await this.dq.now(DemoJob, payload)
        : add === 'delay'
          ? await this.dq.delay(DemoJob, payload, when - now)
          : await this.dq.at(DemoJob, payload, new Date(when));
    return receipt.ref;
  }

  private async revokeInTime(revocations: Revocation[]): Promise<void> {
    for (const { job, ref, at } of revocations.sort((a, b) => a.at - b.at)) {
      await sleep(Math.max(0, at - Date.now()), undefined, { signal: this.signal });
      await this.revoke(job, ref);
    }
  }

  private async revoke(job: number, ref: string): Promise<void> {
    this.log.answered(job, await this.dq.revoke({ ref }));
  }

  private async kill(cluster: DemoCluster): Promise<void> {
    await cluster.victim.kill('SIGKILL');
    this.screen.say(`${cluster.victim.endpoint} was killed (SIGKILL): backups of its jobs run 2 s later`);
  }

  /** The binlog of the node has copies of jobs that are done or revoked. Waits until they are deleted. */
  private async restart(cluster: DemoCluster): Promise<void> {
    await cluster.victim.restart();
    const before = await cluster.copies();
    this.screen.say(`${cluster.victim.endpoint} is back; the nodes hold ${before} copies of finished jobs`);
    const empty = async () => (await cluster.copies()) === 0;
    await this.until(empty, Date.now() + EMPTY_LIMIT);
    this.screen.say(`the nodes hold ${await cluster.copies()} copies`);
  }

  private untilAllIsOver(): Promise<void> {
    return this.until(() => this.log.tally().lost === 0, this.begin + LAST_DUE + DONE_LIMIT);
  }

  /** Shows the progress until the condition holds, or the time is over. */
  private async until(condition: () => boolean | Promise<boolean>, end: number): Promise<void> {
    while (Date.now() < end) {
      const { scheduled, ran, revoked, retried, lost } = this.log.tally();
      this.screen.progress(
        `${scheduled} scheduled, ${ran} ran, ${revoked} revoked, ${retried} retried, ${lost} to come`,
      );
      if (await condition()) return;
      await sleep(LOOK_EVERY, undefined, { signal: this.signal });
    }
  }
}
