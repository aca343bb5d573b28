import { allStored, atMost, none, type Experiment } from '../experiment.js';
import { copiesOn } from '../lab.js';
import { atPace } from '../waiting.js';

/** Milliseconds after which all processes know of a drained node. */
const KNOWN_AFTER = 5_000;
/** How long before its time a job is still moved. The jobs of this experiment are due soon. */
const DUE_AFTER = '2s';

/**
 * One of four nodes is drained while jobs are added, revoked and moved. Repairs take its copies away. Then it is switched off, and
 * does not come back.
 * Recovery: from the drain until no copy is left on the node.
 */
export const nodeDrained: Experiment = {
  number: 19,
  name: 'node-drained',
  what: 'one of four nodes is drained while adds, revokes and moves continue, then switched off for good',
  passes: 'the node is empty before any job is due; each revoke and each move takes effect; duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    await lab.startServers([{}, {}, {}, {}]);
    const producer = await lab.startApplications(3);
    const [node] = lab.beanstalkds;
    const before = lab.jobs / 2;
    // Before the first job is due, the node must be empty.
    const times = lab.timetable(lab.pick(15_000, 90_000));
    const due = (i: number) => times.at(i / lab.jobs);

    const added = await producer.addMany(before, (i) => ({ due: due(i) }));
    const jobs = added.map(({ job }) => job);
    const tenth = (which: number) => jobs.filter((_, i) => i % 10 === which);
    const drained = Date.now();
    await producer.drainNode(node!.endpoint);
    const pace = { from: drained, to: drained + lab.pick(8_000, 30_000), signal: lab.signal };
    const work = Promise.all([
      atPace(lab.jobs - before, pace, (i) => producer.add({ due: due(before + i) })),
      atPace(tenth(1).length, pace, (i) => producer.revoke(tenth(1)[i]!)),
      atPace(tenth(2).length, pace, (i) => producer.reschedule(tenth(2)[i]!, due(before + i))),
    ]);
    await lab.until(drained + KNOWN_AFTER);
    await lab.eventually('no copy is left on the node', async () => {
      await producer.repair({ dueAfter: DUE_AFTER });
      return (await copiesOn(node!)) === 0;
    });
    const emptied = Date.now();
    await node!.kill();
    const [more, revocations, moved] = await work;

    const found = await lab.settle();
    return {
      found,
      recovery: emptied - drained,
      checks: [
        atMost('the node became empty after the first job was due, by', emptied - times.begin, 0, ' ms'),
        allStored('adds that failed', [...added, ...more]),
        allStored('moves that did not return `rescheduled`', moved),
        none(
          'revokes that did not return `revoked`',
          revocations.filter(({ answer }) => answer !== 'revoked'),
        ),
        none('duplicates', found.duplicates),
      ],
    };
  },
};
