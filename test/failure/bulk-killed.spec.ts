import { describe, expect, it } from '@jest/globals';
import type { JobReceipt } from 'nest-dq';
import { eventually } from 'test-servers';
import { schedule } from '../support/jobs.js';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf, type System } from '../support/system.js';

const HOUR = 3_600_000;

const suite = clusterSuite();

/** Starts a process that moves all jobs of a tube, and kills it when some of a page are moved. Resolves with its first cursor. */
async function killedWhileMoving(
  tube: string,
  when: object,
  isMoved: () => Promise<boolean>,
): Promise<{ done: number; cursor: string }> {
  const lines: string[] = [];
  const options = { ...optionsOf(suite.servers), consume: false };
  const { child, ended } = startProgram(
    'support/moving-process.mjs',
    JSON.stringify({ tube, when, options }),
    (line) => lines.push(line),
  );
  await eventually('a job is moved', isMoved);
  child.kill('SIGKILL');
  await ended;
  return JSON.parse(lines[0]!) as { done: number; cursor: string };
}

/** Whether any job is due later. */
async function someMoved(
  { producer }: System,
  receipts: readonly JobReceipt[],
  due: number,
): Promise<boolean> {
  const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
  return found.some((view) => view!.dueAt.getTime() > due);
}

describe('a bulk act whose process is killed in its first page', () => {
  it('continues from the cursor that it returned before, and moves no job twice', async () => {
    const system = suite.start();
    const tube = 'moved';
    const due = Date.now() + HOUR;
    const receipts = await schedule(system, tube, 1_000, (i) => due + i);
    /** In hours from the time of the add. */
    const shifts = async () => {
      const found = await Promise.all(receipts.map((receipt) => system.producer.find(receipt)));
      return found.map((view, i) => (view!.dueAt.getTime() - due - i) / HOUR);
    };
    const { done, cursor } = await killedWhileMoving(tube, { later: '1h' }, () =>
      someMoved(system, receipts.slice(0, 1), due),
    );
    const before = await shifts();
    expect(new Set(before)).toEqual(new Set([0, 1]));
    expect(done).toBe(0);
    const act = system.control.rescheduleMany(tube, {}, { later: '1h' }, { cursor });
    for await (const { failed } of act) expect(failed).toBe(0);
    expect(new Set(await shifts())).toEqual(new Set([1]));
  }, 120_000);
});

describe('a spread whose process is killed in its first page', () => {
  it('gives each job its turn when it continues, and moves none twice', async () => {
    const system = suite.start();
    const tube = 'spread';
    const due = Date.now() + HOUR;
    const receipts = await schedule(system, tube, 1_000, () => due);
    await eventually('all are listed', async () => (await system.inspector.jobs(tube)).listed === 1_000);
    const dues = async () => {
      const found = await Promise.all(receipts.map((receipt) => system.producer.find(receipt)));
      return found.map((view) => view!.dueAt.getTime());
    };
    const { cursor } = await killedWhileMoving(tube, { spread: '1h' }, () =>
      someMoved(system, receipts, due),
    );
    const before = await dues();
    expect(before.filter((each) => each === due).length).toBeGreaterThan(1);
    const act = system.control.rescheduleMany(tube, {}, { spread: '1h' }, { cursor });
    for await (const { failed } of act) expect(failed).toBe(0);
    const after = await dues();
    expect(after.toSorted((a, b) => a - b)).toEqual(receipts.map((_, i) => due + (i * HOUR) / 1_000));
    expect(after.filter((each, i) => before[i]! > due && each !== before[i])).toEqual([]);
  }, 120_000);
});
