import { atLeast, atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';

/** Maximum repeats: what ran when it was frozen, at most one message of each of its keys, and what it handled and had not committed. */
const REPEATS = 50;
/** Maximum repeats of the small version, whose messages take longer. */
const SMALL_REPEATS = 100;
/** Approximate number of running handlers in the consumer when it is frozen. */
const AT_WORK = 3;
/** Part of each key's time that its handlers take: messages wait for those before them, and would begin when a run ends. */
const BUSY = 0.9;
/** The freeze may fall between its last look at the clock and the first line of the handler. */
const ABOUT_TO_BEGIN = 1;

/**
 * One consumer is frozen while its handlers run. When its session is over, the others run its messages, and those behind them.
 * Then it resumes and owns nothing of what it still has. It begins none of that, logs that runs may have overlapped, and
 * joins again.
 */
export const consumerFrozen: StreamExperiment = {
  number: 2,
  name: 'consumer-frozen',
  what: 'a consumer frozen (SIGSTOP) for longer than its session, then resumed',
  passes: 'others run what it ran; it starts nothing it has lost, reports overlaps, and rejoins the group',
  jobs: 20_000,
  smallJobs: 3_000,
  async run(lab) {
    await lab.begin(3);
    lab.push(lab.pick(15_000, 60_000), BUSY);
    await lab.handles(lab.jobs / 8);
    const atWork = () => lab.consumers.find(({ name }) => lab.history.runningIn(name).length >= AT_WORK);
    await lab.eventually('one is running handlers', () => atWork() !== undefined);
    const frozen = atWork() ?? lab.consumers[0];
    const others = lab.consumers.filter((each) => each !== frozen);
    let during: number[] = [];
    let thawed = Infinity;
    await lab.changing(`the freeze of ${frozen!.name}`, async () => {
      frozen!.freeze();
      await lab.settledWith('without the frozen one', others);
      during = lab.history.runningIn(frozen!.name).map(({ message }) => message);
      await lab.eventually('others run what it ran', () => {
        const after = new Set(
          others.flatMap(({ name }) => lab.history.runsIn(name).map(({ message }) => message)),
        );
        return during.every((message) => after.has(message));
      });
      await lab.handles(lab.jobs / 8);
      thawed = Date.now();
      frozen!.thaw();
    });
    const found = await lab.settle();
    const { until } = lab.causes.at(-1)!;
    const overlaps = lab.history.overlaps.filter(({ process }) => process === frozen!.name);
    const learned = overlaps[0]?.at ?? until;
    const stale = lab.history.runsIn(frozen!.name).filter(({ at }) => at >= thawed && at < learned);
    const back = lab.history.runsIn(frozen!.name).filter(({ at }) => at > until);
    return {
      found,
      checks: [
        atLeast('runs that were frozen', during.length, 1),
        atMost('messages that ran again', found.repeats.length, lab.pick(SMALL_REPEATS, REPEATS)),
        atMost(
          'runs it started after the thaw, before it knew what it had lost',
          stale.length,
          ABOUT_TO_BEGIN,
        ),
        atLeast(
          'runs it reported as overlapping',
          overlaps.reduce((sum, { runs }) => sum + runs, 0),
          1,
        ),
        atLeast('runs in the thawed process after it had rejoined', back.length, 1),
      ],
    };
  },
};
