import { isLost } from '../checker.js';
import { atLeast, atMost, none, type Experiment } from '../experiment.js';
import { extraStarts } from '../measures.js';
import { copiesOn } from '../lab.js';
import { nodeCounter } from 'test-servers';

/**
 * One node twice loses what it did. First it comes back with an earlier state of its disk. So it has copies of jobs that were
 * done or revoked since. Then it comes back empty, and its copy ids begin at 1 again. So the locations of old jobs name the
 * copies of new jobs. Half of the old jobs are revoked and the others run; both delete their copies at the old locations.
 */
export const resurrection: Experiment = {
  number: 12,
  name: 'resurrection',
  what: 'a node with an old binlog, from before jobs were done or revoked; then an empty node, while old jobs are revoked and run',
  passes: '0 jobs run again; 0 copies of other jobs deleted',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    const producer = await lab.begin(3);
    const node = lab.beanstalkds[0]!;
    const others = lab.beanstalkds.slice(1);
    const quarter = Math.ceil(lab.jobs / 4);
    const first = lab.timetable(3 * quarter, lab.pick(2_000, 10_000));
    const recovers = lab.pick(6_000, 40_000);
    const numbers = (added: readonly { readonly job: number }[]) => added.map(({ job }) => job);

    const oldDue = first.end + recovers;
    const innocentDue = oldDue + recovers;

    // The old jobs are added first, so that their copy ids are the lowest.
    const old = numbers(await producer.addMany(quarter, (i) => ({ due: oldDue + 10 * (i % 100) })));
    const early = numbers(await producer.addMany(2 * quarter, (i) => ({ due: first.at(i / (2 * quarter)) })));
    const onlyOldAreThere = async () => (await copiesOn(node)) === old.length;
    await node.saveData();
    await producer.revokeMany(early.filter((job) => job % 2 === 0));
    await lab.eventually('the others ran', () => early.every(isOver));
    await lab.eventually('their copies are deleted', onlyOldAreThere);
    await node.kill();
    await node.putBackData();
    await node.restart();
    await lab.eventually('the resurrected copies are deleted', onlyOldAreThere);
    const deleted = await nodeCounter(node, 'cmd-delete');

    await node.kill();
    await node.wipe();
    await node.restart();
    await lab.storedEverywhere('new jobs have a copy there', producer, () => oldDue);
    const innocents = await producer.addMany(quarter, () => ({ due: innocentDue }));
    const added = Date.now();
    await producer.revokeMany(old.filter((job) => job % 2 === 0));
    await lab.eventually('all jobs that were due ran', () => lab.open() === innocents.length);
    await lab.eventually('the other nodes have only copies of the new jobs', async () => {
      const counts = await Promise.all(others.map(copiesOn));
      return counts.every((count) => count === innocents.length);
    });
    const left = (await copiesOn(node))!;
    const looked = Date.now();

    const found = await lab.settle();
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        none('starts beyond the first', extraStarts(lab.history)),
        atLeast('resurrected copies that were deleted', deleted, early.length),
        atMost('time from the due time to the revoke of old ids', added - oldDue, 0, ' ms'),
        atMost('time from the due time to the count of copies', looked - innocentDue, 0, ' ms'),
        atMost('copies of other jobs deleted', innocents.length - left, 0),
      ],
    };

    function isOver(job: number): boolean {
      return !isLost(lab.history.of(job));
    }
  },
};
