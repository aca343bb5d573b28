import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { expectOnceEach, isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const LEASE = 3_000;
const TUBE = 'paused';

const suite = clusterSuite();

describe('a paused tube of two processes, of which one is killed', () => {
  it('begins no run until it is resumed, neither of what the dead process ran nor of what came due, and loses none', async () => {
    const one = suite.start({ advanced: { lease: LEASE } });
    const taken: Pick<Start, 'id' | 'attempt' | 'fence'>[] = [];
    const options = { ...optionsOf(suite.servers), advanced: { lease: LEASE } };
    const other = startProgram(
      'support/consumer-process.mjs',
      JSON.stringify({ tube: TUBE, options }),
      (line) => taken.push(JSON.parse(line) as Start),
    );
    const running = await schedule(one, TUBE, 5, () => Date.now());
    await eventually('the other process runs them', () => taken.length === 5);

    await one.control.pause(TUBE);
    const starts: Start[] = [];
    await record(one, TUBE, starts);
    const due = Date.now() + 500;
    const waiting = await schedule(one, TUBE, 20, (i) => due + i);
    other.child.kill('SIGKILL');
    await other.ended;
    const killed = Date.now();
    // The copies of its jobs came back with its connections, and are there to be claimed once its leases are over.
    await eventually('the leases are over, and all is due', () => Date.now() > killed + LEASE + 1_000);
    expect(starts).toEqual([]);
    expect((await one.inspector.tube(TUBE)).paused).toBeDefined();
    const find = [...running, ...waiting].map(async (receipt) => (await one.producer.find(receipt))!.state);
    expect(new Set(await Promise.all(find)).has('done')).toBe(false);

    const resumed = Date.now();
    expect((await one.control.resume(TUBE)).ended).toBeDefined();
    await eventually('all ran', () => starts.length >= 25);
    await eventually('no copy is left', () => isEmpty(one, TUBE));
    expectOnceEach(starts, [...running, ...waiting]);
    expect(Math.min(...starts.map(({ at }) => at))).toBeGreaterThanOrEqual(resumed);
    for (const { id, attempt, fence } of starts) {
      const before = taken.find((run) => run.id === id);
      expect(attempt).toBe(before ? before.attempt + 1 : 1);
      expect(fence).toBeGreaterThan(before?.fence ?? 0);
    }
  }, 120_000);
});
