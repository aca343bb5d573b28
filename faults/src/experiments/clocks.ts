import { join } from 'node:path';
import { FakeClock, nodeCounter, percentile } from 'test-servers';
import { allStored, atLeast, atMost, none, type Experiment } from '../experiment.js';
import type { Lab } from '../lab.js';
import type { Schedule } from '../log.js';
import { latenesses } from '../measures.js';
import type { ProducerSide } from '../producer-side.js';

/** An hour in seconds. */
const HOUR = 3_600;
/** Five minutes in ms. */
const FIVE_MINUTES = 300_000;
/** Milliseconds. Redis and the logs use the same clock, but a call to Redis takes some time. */
const SAME_CLOCK = 50;
/** Milliseconds. A smaller difference may come from a busy machine, and not from a wrong clock. */
const NOISE = 100;
/** Milliseconds. The small version runs together with other tests, on any machine. */
const SMALL_NOISE = 1_000;

/**
 * Two equal windows of jobs. In the first one, all clocks are right. In the second one, the clock of one node is an hour
 * ahead from the beginning. That of another node jumps an hour ahead in the middle, so that all its copies surface at once.
 * Both use libfaketime. One producer is five minutes ahead, and one is five minutes behind; so are two of the three consumers
 * (see clock.ts). Half of the adds give an instant, half a delay. The logs use the machine's clock, as the ledger does.
 *
 * A node whose clock jumps back is not tried here. Its copies surface late, as if the node were away.
 */
export const clocks: Experiment = {
  number: 15,
  name: 'clocks',
  what: 'one node an hour ahead, another that jumps an hour ahead; producers and consumers five minutes ahead and behind',
  passes: `early 0 by the ledger's clock; correct due times; p99 lateness at most twice that with correct clocks, or ${NOISE} ms more`,
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    const nodeClocks = await Promise.all(
      [0, 1].map((node) => FakeClock.make(join(lab.folder, `node-${node}.clock`))),
    );
    const [ahead, jumping] = nodeClocks;
    await lab.startServers([...nodeClocks.map((clock) => (clock ? { env: clock.env } : {})), {}]);
    const half = Math.ceil(lab.jobs / 2);

    const right = await startApplications(lab, [0, 0], [0, 0, 0]);
    const goodWeather = await addHalf(lab, right.producers, half);
    await lab.eventually('the jobs with correct clocks ran', () => lab.open() === 0);
    await Promise.all(right.consumers.map((consumer) => consumer.end('SIGTERM')));

    await ahead?.jump(HOUR);
    const wrong = [FIVE_MINUTES, -FIVE_MINUTES] as const;
    const { producers } = await startApplications(lab, wrong, [...wrong, 0]);
    const offset = await offsetOfRedis(lab);
    const releases = () => nodeCounter(lab.beanstalkds[1]!, 'cmd-release');
    let before = NaN;
    const badWeather = await addHalf(lab, producers, half, async (middle) => {
      await lab.until(middle);
      before = await releases();
      await jumping?.jump(HOUR);
    });

    const found = await lab.settle();
    const early = (await releases()) - before;
    const [good, bad] = [goodWeather, badWeather].map((asked) =>
      percentile(
        latenesses(
          lab.history,
          asked.map(({ schedule }) => schedule.job),
        ),
        0.99,
      ),
    );
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        allStored(
          'adds that failed',
          badWeather.map(({ schedule }) => schedule),
        ),
        atMost('worst error of a due time', Math.max(...badWeather.map(wrongDue)), SAME_CLOCK, ' ms'),
        atMost("offset between the ledger's clock and the logs'", Math.abs(offset), SAME_CLOCK, ' ms'),
        // When the clock jumps, about half of the copies of that node are not due. They surface early and must be released.
        ...(jumping ? [atLeast('copies released after a node jumped', early, half / 10)] : []),
        atMost('p99 lateness', bad!, Math.max(2 * good!, good! + lab.pick(SMALL_NOISE, NOISE)), ' ms'),
      ],
      notes: [
        `due times off by at most ${Math.max(...badWeather.map(wrongDue))} ms`,
        `p99 lateness ${good} ms with correct clocks, ${bad} ms with wrong ones`,
        ...(ahead ? [] : ['libfaketime is not available: the nodes had correct clocks']),
      ],
    };
  },
};

async function startApplications(lab: Lab, producers: readonly number[], consumers: readonly number[]) {
  const [started, consuming] = await Promise.all([
    Promise.all(producers.map((ahead) => lab.startProducer({}, ahead))),
    Promise.all(consumers.map((ahead) => lab.startConsumer({}, ahead))),
  ]);
  return { producers: started, consumers: consuming };
}

/** Adds a window of jobs, spread over the producers. Meanwhile calls `during` with the middle of the window. */
async function addHalf(
  lab: Lab,
  producers: readonly ProducerSide[],
  count: number,
  during: (middle: number) => Promise<void> = () => Promise.resolve(),
) {
  const times = lab.timetable(count);
  const each = Math.ceil(count / producers.length);
  const [asked] = await Promise.all([
    Promise.all(
      producers.map(async (producer) => {
        const due = (i: number) => Math.ceil(times.at(i / each));
        const schedules = await producer.addMany(each, (i) => ({
          due: due(i),
          byDelay: i % 2 === 0,
          options: { allowPast: false },
        }));
        return schedules.map((schedule, i) => ({ schedule, due: due(i) }));
      }),
    ),
    during(times.at(0.5)),
  ]);
  return asked.flat();
}

/** How far the due time is from the time that was asked for, in ms. A delay may count from any time during the call. */
function wrongDue({ schedule, due: asked }: { readonly schedule: Schedule; readonly due: number }): number {
  const { due, at, askedAt } = schedule;
  return Math.max(asked - due, due - (asked + at - askedAt));
}

/** By how many ms the clock of Redis is ahead of that of the logs. */
function offsetOfRedis(lab: Lab): Promise<number> {
  return lab.withRedis(async (redis) => {
    const asked = Date.now();
    const [seconds, microseconds] = await redis.time();
    const took = Date.now() - asked;
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000 - asked - took / 2;
  });
}
