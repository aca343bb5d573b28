import { none, noneBut, type Experiment, type Outcome } from '../experiment.js';
import { sharesOf } from '../go-queue/fates.js';
import { GoServices } from '../go-queue/services.js';
import type { Lab } from '../lab.js';
import type { Schedule } from '../log.js';
import { runsDuring } from '../measures.js';
import type { NewTask, ProducerSide } from '../producer-side.js';

/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Milliseconds. The copies of a job surface together, and those that meet its adoption go a little after it. */
const COPIES_GO = 1_000;
/** The same, in addition to the lease, where the retry ran from a backup: the primary, which met that run, waits for as long as a lease. */
const RETRY_COPIES_GO = 5_000;
/** One job in ten fails at first, and others may be revoked. */
const TENTH = 10;
const NO_GO = 'NOT TRIED: Go is not installed';

interface Sides {
  readonly adds: Side;
  readonly runs: Side;
}
type Side = 'nest' | 'go' | 'both';

const has = (side: Side, which: 'nest' | 'go') => side === which || side === 'both';

const FAULTS = 'a node away during revokes, consumers killed, a tenth failing, Redis away, FLUSHALL';
const PASSES =
  'extra runs only of jobs in flight in a killed process, or in flight or not deleted yet at the FLUSHALL; all our revokes return `revoked`';

/** The jobs are stored as go-queue stores them, and handlers of nest-dq run them: each is adopted first. */
export const goQueue: Experiment = {
  number: 24,
  name: 'go-queue',
  what: `jobs stored as go-queue's dq stores them: ${FAULTS}`,
  passes: PASSES,
  jobs: 20_000,
  smallJobs: 600,
  run: (lab) => run(lab, { adds: 'nest', runs: 'nest' }),
};

/** Runs with programs of go-queue's own parts. What go-queue itself loses or doubles is counted separately. */
export const withGoQueue: readonly Experiment[] = [
  sharedWithGoQueue(25, 'go-queue-adds', 'go-queue adds, nest-dq runs', { adds: 'go', runs: 'nest' }),
  sharedWithGoQueue(26, 'go-queue-runs', 'nest-dq adds, go-queue runs', { adds: 'nest', runs: 'go' }),
  sharedWithGoQueue(27, 'go-queue-both', 'both add and compete for the jobs', { adds: 'both', runs: 'both' }),
];

function sharedWithGoQueue(number: number, name: string, who: string, sides: Sides): Experiment {
  return {
    number,
    name,
    what: `${who}: ${FAULTS}`,
    passes: `${PASSES}; what go-queue itself loses or doubles is not counted in the row, but below it`,
    jobs: 6_000,
    smallJobs: 300,
    run: (lab) => run(lab, sides),
  };
}

/**
 * One after the other, a node is away, and jobs are revoked meanwhile; two consumers of each side are killed; Redis is away; Redis
 * loses everything. Delays in whole seconds, rounded up, make each job up to a second late, so no recovery is measured.
 */
async function run(lab: Lab, { adds, runs }: Sides): Promise<Outcome> {
  lab.wire = 'go-queue';
  const producer = await lab.begin(has(runs, 'nest') ? 3 : 0);
  const needsGo = has(adds, 'go') || has(runs, 'go');
  const go = needsGo ? await GoServices.start(lab) : undefined;
  if (needsGo && !go) return { found: lab.findings(), checks: [], notes: [NO_GO] };
  if (has(runs, 'go')) for (let i = 0; i < 2; i++) await go!.startConsumer();
  const node = lab.beanstalkds[0]!;
  const times = lab.timetable(lab.jobs, lab.pick(24_000, 60_000));
  const dead = new Map<string, number>();
  const kill = (name: string, end: () => Promise<void>) => {
    dead.set(name, Date.now());
    return end();
  };

  const added = await addAll(lab, producer, go, { adds, runs, due: (part) => times.at(part) });
  await lab.until(times.at(0.02));
  await node.kill();
  const jobs = (rest: number) =>
    added
      .filter((_, i) => i % TENTH === rest && i >= lab.jobs * 0.5 && i < lab.jobs * 0.7)
      .map(({ job }) => job);
  const revocations = await producer.revokeMany(jobs(5));
  const revokedInGo = jobs(6).filter((job) => go?.idsOf(job) !== undefined);
  for (const job of revokedInGo) await go!.revoke(job);
  await lab.until(times.at(0.14));
  await node.restart();
  for (const [victim, part] of [0.18, 0.26].entries()) {
    await lab.until(times.at(part));
    if (has(runs, 'nest')) {
      await kill(lab.consumers[victim]!.name, () => lab.consumers[victim]!.end('SIGKILL'));
      await lab.startConsumer();
    }
    if (has(runs, 'go')) {
      await kill(go!.consumers[victim]!.name, () => go!.consumers[victim]!.kill());
      await go!.startConsumer();
    }
  }
  await lab.until(times.at(0.32));
  await lab.redis.kill();
  await lab.until(times.at(0.45));
  await lab.redis.restart();
  // Copies that met the outage go within a lease.
  await lab.until(times.at(0.9));
  const from = Date.now() - COPIES_GO;
  await lab.withRedis((redis) => redis.flushall());
  const flushed = Date.now();

  const { found, notes } = await findingsOf(lab, go, revokedInGo);
  // Also runs that were granted before it, and began a little later.
  const allowed = new Set(runsDuring(lab.history, from, flushed + JUST_ENDED).map(({ job }) => job));
  for (const { process, job, attempt, at, end } of lab.history.allRuns()) {
    if (attempt > 1 && at < flushed && at > flushed - lab.lease - RETRY_COPIES_GO) allowed.add(job);
    const diedAt = dead.get(process);
    if (diedAt !== undefined && (!end || end.at > diedAt - JUST_ENDED)) allowed.add(job);
  }
  return {
    found,
    notes,
    checks: [
      noneBut('duplicates of jobs that were not in flight', found.duplicates, allowed),
      none(
        'revokes that did not return `revoked`',
        revocations.filter(({ answer }) => answer !== 'revoked'),
      ),
    ],
  };
}

/** Adds all jobs, where both add ten by one and ten by the other. */
async function addAll(
  lab: Lab,
  producer: ProducerSide,
  go: GoServices | undefined,
  how: Sides & { readonly due: (part: number) => number },
): Promise<Schedule[]> {
  // A consumer with go-queue runs one job at a time of each node.
  const slow = has(how.runs, 'go') ? 2 : 20;
  const task = (i: number): NewTask & Required<Pick<NewTask, 'acts'>> => ({
    due: how.due(i / lab.jobs),
    acts: i % TENTH === 0 ? [{ end: 'fail' }, {}] : [{ ms: (i % 5) * slow }],
  });
  const all = Array.from({ length: lab.jobs }, (_, i) => i);
  const inGo = (i: number) => has(how.adds, 'go') && (how.adds === 'go' || Math.floor(i / TENTH) % 2 === 1);
  const added: Schedule[] = [];
  const inNest = all.filter((i) => !inGo(i));
  const stored = producer.addMany(inNest.length, (n) => task(inNest[n]!));
  for (const i of all.filter(inGo)) {
    const { due, acts } = task(i);
    added[i] = await go!.add(acts, due);
    producer.know(added[i].job, { ref: go!.idsOf(added[i].job)! });
  }
  for (const [n, schedule] of (await stored).entries()) added[inNest[n]!] = schedule;
  return added;
}

/** Returns the findings without what go-queue itself did, which goes to the notes. */
async function findingsOf(
  lab: Lab,
  go: GoServices | undefined,
  revokedInGo: readonly number[],
): Promise<Pick<Outcome, 'found' | 'notes'>> {
  if (!go) return { found: await lab.settle() };
  // Not until all have run: go-queue may lose some.
  await lab.eventually('no copy is left', async () => (await lab.copiesLeft()) === 0);
  await lab.eventually('no handler is running in Go', () => go.idle);
  const { ours, note } = sharesOf(
    lab.findings(),
    lab.history,
    go.fates,
    (job) => go.idsOf(job) !== undefined,
  );
  const ran = revokedInGo.filter((job) => lab.history.runsOf(job).length > 0).length;
  const revokes =
    revokedInGo.length > 0
      ? [`of ${revokedInGo.length} jobs that go-queue revoked while a node was away, ${ran} ran`]
      : [];
  return { found: ours, notes: [note, ...revokes] };
}
