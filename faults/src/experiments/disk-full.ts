import { type BeanstalkdServer, nodeCounter } from 'test-servers';
import { allStored, atMost, none, type Experiment } from '../experiment.js';
import { copiesOn, type Lab } from '../lab.js';
import type { ProducerSide } from '../producer-side.js';
import { atPace } from '../waiting.js';

/** Bytes of a file of the second node's log: so few that it soon needs a new one. */
const LOG_FILE = 16_384;
/** Milliseconds. */
const OUT_OF_WRITING = 1_000;
/** Milliseconds from the first add. */
const FAULT_AFTER = 500;
/** Milliseconds. For less than this a node that refused is left alone, before it is tried again. */
const LEFT_ALONE = 4_000;

/**
 * Two ways in which a disk is full, by a limit on the size of files. First a node cannot write its log any more: it
 * answers one put BURIED, then INSERTED and DELETED as if nothing were wrong, and a restart loses what it stored and
 * brings back what it deleted. Then another node cannot begin a new file of its log: it refuses each put.
 * All the while adds go on, in the first case for longer than a node that refused is left alone. Each node is killed in that state, and comes back when there is room again.
 */
export const diskFull: Experiment = {
  number: 14,
  name: 'disk-full',
  what: 'disk full on one node: its log cannot be written; on another one: no new file can be begun',
  passes: 'out of writing within a second; every add is stored meanwhile; duplicates 0',
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
      const noticed = async () => (await refusedPuts(refusing!)) > 0 || (await logStopped(refusing!));
      await lab.eventually('it refuses', noticed);
      return putsUntil(lab, refusing!, Math.min(end, Date.now() + LEFT_ALONE));
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
        atMost('puts on a node that refused one, after a second', loud.puts, 0),
      ],
      // The limit leaves no room for a file's last byte: where a record takes that, the log cannot be written, once more.
      notes:
        refused > 0
          ? []
          : ['a record ended with its file, so that no put was refused: that log stopped, too'],
    };
  },
};

/** Kills it as a crash does, and starts it without the limit. */
async function comeBack(node: BeanstalkdServer): Promise<void> {
  await node.kill();
  await node.restart();
}

/** Puts that were not stored. */
async function refusedPuts(node: BeanstalkdServer): Promise<number> {
  const [asked, stored] = [await nodeCounter(node, 'cmd-put'), await nodeCounter(node, 'total-jobs')];
  return asked - stored;
}

/** It answers puts and deletions for which its log has no record. */
async function logStopped(node: BeanstalkdServer): Promise<boolean> {
  const puts = await nodeCounter(node, 'total-jobs');
  const copies = (await copiesOn(node)) ?? Infinity;
  return (await nodeCounter(node, 'binlog-records-written')) < puts + (puts - copies);
}

/** Puts that a node is asked for from a second from now on until the end. */
async function putsUntil(lab: Lab, node: BeanstalkdServer, end: number): Promise<number> {
  await lab.until(Date.now() + OUT_OF_WRITING);
  const before = await nodeCounter(node, 'cmd-put');
  await lab.until(end);
  return (await nodeCounter(node, 'cmd-put')) - before;
}

/** Adds at an even pace while `fault` happens, which counts something. */
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
