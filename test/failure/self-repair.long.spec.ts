import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DqOptions } from 'nest-dq';
import type { OperatorAct } from 'nest-dq/src/events/events.js';
import type { BeanstalkdServer } from 'test-servers';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { closedAfterEach } from '../support/suite.js';
import { startServers, startSystem, type Servers, type System } from '../support/system.js';

const HOUR = 3_600_000;
const JOBS = 60;
const open = closedAfterEach();
let servers: Servers;

beforeAll(async () => {
  servers = await startServers();
}, 120_000);

afterAll(() => servers.stop());

/** A process whose nodes are all up. */
async function started(repair: boolean, options: DqOptions = {}): Promise<System> {
  const system = startSystem(servers, { repair, ...options });
  open.push({ close: system.stop });
  await allUp(system);
  return system;
}

const allUp = ({ nodes }: System): Promise<void> =>
  eventually('all nodes are up', () => nodes.every(({ up }) => up));

/** It comes back without its binlog. */
async function lose(node: BeanstalkdServer): Promise<void> {
  await node.kill();
  await node.wipe();
  await node.restart();
}

async function added(system: System, tube: string) {
  const receipts = await schedule(system, tube, JOBS, (i) => Date.now() + HOUR + i);
  const areListed = async () => (await system.inspector.jobs(tube)).listed === JOBS;
  await eventually('all are listed', areListed);
  return receipts;
}

const counts = ({ nodes }: System, tube: string): Promise<number[]> =>
  Promise.all(nodes.map((node) => countCopies(node, tube)));

describe('a node that lost its binlog', () => {
  it('is refilled automatically, so that both other nodes can be lost', async () => {
    const tube = 'repaired';
    const system = await started(true);
    const operated: OperatorAct[] = [];
    system.events.on('operated').subscribe((act) => operated.push(act));
    const receipts = await added(system, tube);
    const [first, ...others] = servers.beanstalkds;
    await lose(first!);
    await eventually('all jobs have three copies', async () => {
      await allUp(system);
      return (await counts(system, tube)).every((count) => count === JOBS);
    });
    await eventually('it is reported', () => operated.length > 0);
    expect(operated).toEqual([{ by: 'nest-dq', act: 'repair', on: {}, count: JOBS }]);
    expect(system.log.filter((line) => line.startsWith('repair finished'))).toHaveLength(1);

    for (const node of others) await lose(node);
    await allUp(system);
    const starts: Start[] = [];
    await record(system, tube, starts);
    for (const receipt of receipts) {
      await eventually('it is moved', async () => (await system.control.runNow(receipt)) !== 'unknown');
    }
    await eventually('all jobs ran', () => starts.length >= JOBS);
    await eventually('no copy is left', () => isEmpty(system, tube));
    expectOnceEach(starts, receipts);
  }, 120_000);

  it('is refilled by another process where the elected one does not know the key of the jobs, and logs that', async () => {
    const tube = 'sealed';
    const [k1, k2] = [randomBytes(32), randomBytes(32)];
    const alone = await started(true, { seal: { keys: { k1 }, current: 'k1' } });
    await eventually('it is elected', () => alone.process.elected);
    const both = await started(true, { seal: { keys: { k1, k2 }, current: 'k2' } });
    await added(both, tube);
    await lose(servers.beanstalkds[0]!);
    await eventually(
      'all jobs have three copies',
      async () => (await counts(both, tube)).every((count) => count === JOBS),
      60_000,
    );
    expect([alone.process.elected, both.process.elected]).toEqual([false, true]);
    expect((await alone.health.check()).dq.unreadable).toEqual({ count: JOBS, keys: ['k2'] });
    expect((await both.health.check()).dq.unreadable).toBeUndefined();
    const said = alone.log.filter((line) => line.includes('this process cannot read'));
    expect(said).toEqual([expect.stringContaining('it is sealed with the key "k2", which this process')]);
  }, 120_000);

  it('stays as it is where `repair` is false, until another process is elected', async () => {
    const tube = 'unrepaired';
    const system = await started(false);
    await added(system, tube);
    expect(system.process.elected).toBe(true);
    await lose(servers.beanstalkds[0]!);
    await allUp(system);
    expect(await counts(system, tube)).toEqual([0, JOBS, JOBS]);
    const next = await started(true);
    expect(await counts(system, tube)).toEqual([0, JOBS, JOBS]);
    await system.stop();
    await eventually('all jobs have three copies', async () =>
      (await counts(next, tube)).every((count) => count === JOBS),
    );
  }, 120_000);
});
