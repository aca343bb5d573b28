import { atLeast, atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** Maximum takeover time in addition to the session, in ms: to share out the partitions, and to fetch. */
const JOINED_WITHIN = 30_000;

/** Minimum number of running handlers in a process when it is killed. */
const AT_WORK = 3;

/**
 * One consumer after the other is killed while its handlers run, and a new one replaces it.
 * Recovery: the longest takeover, from a kill to the next start of a message that ran in the killed process. The brokers give
 * its partitions away when its session is over.
 */
export const consumersKilled: StreamExperiment = {
  number: 1,
  name: 'consumers-killed',
  what: 'a consumer killed (SIGKILL) while its handlers run, 8 times, and replaced',
  passes: 'takeover within 30 s of the end of the session; each interrupted message runs again',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const kills = lab.pick(2, 8);
    await lab.begin(3);
    lab.push(lab.pick(24_000, 120_000));
    const cut: { readonly message: number; readonly died: number }[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await lab.handles(lab.jobs / (3 * kills));
      const victim = lab.consumers[kill]!;
      await lab.eventually(
        'it is running handlers',
        () => lab.history.runningIn(victim.name).length >= AT_WORK,
      );
      await lab.changing(`the kill of ${victim.name}`, async () => {
        await victim.end('SIGKILL');
        const died = Date.now();
        lab.readOn();
        for (const { message } of lab.history.runningIn(victim.name)) cut.push({ message, died });
        await lab.startConsumer();
      });
    }
    const found = await lab.settle();
    const starts = new Map<number, number[]>();
    for (const { message, at } of lab.history.allRuns())
      starts.set(message, [...(starts.get(message) ?? []), at]);
    const takeovers = cut.map(({ message, died }) => {
      const next = starts.get(message)?.find((at) => at > died) ?? Infinity;
      return next - died;
    });
    const recovery = takeovers.reduce((a, b) => Math.max(a, b), 0);
    return {
      found,
      recovery,
      checks: [
        atLeast('runs cut short by a kill', cut.length, kills),
        atMost('longest takeover', recovery, lab.session + JOINED_WITHIN, ' ms'),
      ],
    };
  },
};
