import { atMost, noneBut, type Experiment } from '../experiment.js';
import type { JobHistory } from '../history.js';
import { latenesses, runsDuring } from '../measures.js';
import { Proxy } from 'test-servers';

/** Maximum lateness in ms. */
const LATEST = 3_000;
/** Slots of the consumer that is cut off: enough to reserve the copies of many jobs, and withhold them. */
const MANY_SLOTS = 500;
/** Milliseconds. If a run ended so shortly before the cut, its completion may not have reached the ledger. */
const JUST_ENDED = 1_000;

/**
 * Three consumers. One of them reaches Redis through a proxy. The proxy is cut, and later it swallows all bytes; each time
 * for longer than a lease. The nodes stay in reach. The consumer that is cut off cannot claim the jobs whose copies it
 * reserved, so it has to release them for the others. The jobs that it was running are run again when their leases end.
 * So are the jobs whose grant was lost on its way back: the ledger granted them, and the consumer does not know it. The log
 * shows which jobs these are: their first start is their second attempt.
 */
export const consumerCutOff: Experiment = {
  number: 9,
  name: 'consumer-cut-off',
  what: 'one of three consumers cut off from Redis: connections closed, later silent',
  passes:
    'worst lateness at most 3 s, or a lease and a second if the answer to a claim was lost; duplicates only of runs in the cut-off consumer',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const outage = lab.pick(4_000, 20_000);
    const producer = await lab.begin(2);
    const proxy = await lab.owned(Proxy.to(lab.redis));
    const cutOff = await lab.startConsumer({
      redis: `redis://${proxy.endpoint}`,
      handlers: { concurrency: MANY_SLOTS },
    });
    const times = lab.timetable(lab.jobs, 2 * outage + 4_000);
    const cuts = [times.begin + 1_000, times.begin + outage + 3_000];

    await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: (i % 5) * 50 }],
    }));
    for (const [i, at] of cuts.entries()) {
      await lab.until(at);
      if (i === 0) proxy.cut();
      else proxy.swallow();
      await lab.until(at + outage);
      proxy.restore();
    }

    const found = await lab.settle();
    const inFlight = new Set(
      cuts
        .flatMap((at) => runsDuring(lab.history, at - JUST_ENDED, at + outage))
        .filter(({ process }) => process === cutOff.name)
        .map(({ job }) => job),
    );
    const isUnheard = ({ runs }: JobHistory) => runs[0] !== undefined && runs[0].attempt > 1;
    const all = [...lab.history.all()];
    const worst = (jobs: readonly JobHistory[]) =>
      Math.max(
        0,
        ...latenesses(
          lab.history,
          jobs.map(({ job }) => job),
        ),
      );
    const unheard = all.filter(isUnheard);
    const worstOfOthers = worst(all.filter((job) => !isUnheard(job)));
    return {
      found,
      checks: [
        noneBut('duplicates of jobs the cut-off consumer was not running', found.duplicates, inFlight),
        atMost('worst lateness', worstOfOthers, LATEST, ' ms'),
        atMost(
          'worst lateness where the answer to a claim was lost',
          worst(unheard),
          lab.lease + 1_000,
          ' ms',
        ),
        atMost('claims whose answer was lost', unheard.length, cuts.length * MANY_SLOTS),
      ],
      notes: [
        `${unheard.length} claims whose answer was lost; worst lateness of all other jobs ${worstOfOthers} ms`,
      ],
    };
  },
};
