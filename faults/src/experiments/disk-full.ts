import { type BeanstalkdServer, nodeCounter } from 'test-servers';
import { allStored, atMost, none, type Experiment } from '../experiment.js';
import { copiesOn, type Lab } from '../lab.js';
import type { ProducerSide } from '../producer-side.js';
import { atPace } from '../waiting.js';

/** Bytes of one log file of the second node: so few that it soon needs a new file. */
const LOG_FILE = 16_384;
/** Maximum time until a node that can't write its log gets no more puts, in ms. */
const OUT_OF_WRITING = 1_000;
/** Milliseconds from the first add. */
const FAULT_AFTER = 500;
/** Milliseconds. Less than the time for which a node that refused a put gets no puts. */
const LEFT_ALONE = 4_000;

/**
 * A limit on the size of files makes a disk full in two ways. First, a node cannot write its log any more. It answers one
 * put with BURIED, and then INSERTED and DELETED as if all were well. A restart loses what it stored after that, and brings
 * back what it deleted. Second, another node cannot begin a new file of its log, and refuses each put.
 * Adds continue all the time; in the first case for longer than a node that refused a put gets no puts. Each node is killed in
 * that state, and restarted without the limit.
 */
export const diskFull: Experiment = {
  number: 14,
  name: 'disk-full',
  what: 'disk full: one node cannot write its log, another cannot start a new log file',
  passes: 'the node gets no puts after a second; every add is still stored; duplicates 0',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    await lab.startServers([{}, { args: ['-s', String(LOG_FILE)] }, {}]);
    const [silent, refusing] = lab.beanstalkds;
    const producer = await lab.startApplications(3);
    const half = Math.ceil(lab.jobs / 2);

    const quiet = await whileAdding(lab, producer, half, lab.pick(7_000, 15_000), async ({ begin, end }) => {
      await lab.until(begin + FAULT_AFTER);
      await silent!.limitFiles(1);
      return putsUntil(lab, silent!, end);
    });
    await comeBack(silent!);

    const loud = await whileAdding(lab, producer, half, lab.pick(4_000, 15_000), async ({ begin, end }) => {
      await lab.until(begin + FAULT_AFTER);
      await refusing!.limitFiles(LOG_FILE - 1);
      let before = Date.now(); // it has refused none yet
      await lab.eventually('it rejects a put', async () => {
        const asked = Date.now();
        if ((await refusedPuts(refusing!)) > 0 || (await logStopped(refusing!))) return true;
        before = asked;
        return false;
      });
      return putsUntil(lab, refusing!, Math.min(end, before + LEFT_ALONE));
    });
    const refused = await refusedPuts(refusing!);
    await comeBack(refusing!);
    await lab.storedEverywhere('jobs have three copies again', producer, () => Date.now());

    const found = await lab.settle();
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        allStored('adds that failed', [...quiet.adds, ...loud.adds]),
        atMost('puts on a node that cannot write its log, after a second', quiet.puts, 0),
        atMost('puts on a node that rejected one, after a second', loud.puts, 0),
      ],
      // The limit leaves no room for the last byte of a file. If a record needs that byte, the log stops here, too.
      notes:
        refused > 0
          ? []
          : ['a record ended exactly with its file, so no put was rejected: that log stopped too'],
    };
  },
};

/** Kills the node as a crash does, and starts it without the limit. */
async function comeBack(node: BeanstalkdServer): Promise<void> {
  await node.kill();
  await node.restart();
}

/** The number of puts that the node did not store. */
async function refusedPuts(node: BeanstalkdServer): Promise<number> {
  const [asked, stored] = [await nodeCounter(node, 'cmd-put'), await nodeCounter(node, 'total-jobs')];
  return asked - stored;
}

/** Whether the node answers puts and deletions without a record in its log. */
async function logStopped(node: BeanstalkdServer): Promise<boolean> {
  const puts = await nodeCounter(node, 'total-jobs');
  const copies = (await copiesOn(node)) ?? Infinity;
  return (await nodeCounter(node, 'binlog-records-written')) < puts + (puts - copies);
}

/** How many puts a node gets from one second after now until `end`. */
async function putsUntil(lab: Lab, node: BeanstalkdServer, end: number): Promise<number> {
  await lab.until(Date.now() + OUT_OF_WRITING);
  const before = await nodeCounter(node, 'cmd-put');
  await lab.until(end);
  return (await nodeCounter(node, 'cmd-put')) - before;
}

/** Adds at a steady rate during `fault`, which resolves with a number of puts. */
async function whileAdding(
  lab: Lab,
  producer: ProducerSide,
  count: number,
  took: number,
  fault: (during: { readonly begin: number; readonly end: number }) => Promise<number>,
) {
  const begin = Date.now();
  const end = begin + took;
  const pace = { from: begin, to: end, signal: lab.signal };
  const [adds, puts] = await Promise.all([
    atPace(count, pace, (i) => producer.add({ due: Date.now() + (i % 8) * 500 })),
    fault({ begin, end }),
  ]);
  return { adds, puts };
}
