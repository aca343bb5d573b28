import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { schedule } from '../support/jobs.js';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const HOUR = 3_600_000;

const suite = clusterSuite();

describe('a bulk act whose process is killed in its first page', () => {
  it('continues from the cursor that it returned before, and moves no job twice', async () => {
    const system = suite.start();
    const tube = 'moved';
    const due = Date.now() + HOUR;
    const receipts = await schedule(system, tube, 1_000, (i) => due + i);
    const lines: string[] = [];
    const options = { ...optionsOf(suite.servers), consume: false };
    const { child, ended } = startProgram(
      'support/moving-process.mjs',
      JSON.stringify({ tube, options }),
      (line) => lines.push(line),
    );
    /** In hours from the time of the add. */
    const shifts = async () => {
      const found = await Promise.all(receipts.map((receipt) => system.producer.find(receipt)));
      return found.map((view, i) => (view!.dueAt.getTime() - due - i) / HOUR);
    };
    await eventually(
      'a job is moved',
      async () => (await system.producer.find(receipts[0]!))!.dueAt.getTime() > due,
    );
    child.kill('SIGKILL');
    await ended;
    const before = await shifts();
    expect(new Set(before)).toEqual(new Set([0, 1]));

    const { done, cursor } = JSON.parse(lines[0]!) as { done: number; cursor: string };
    expect(done).toBe(0);
    const act = system.control.rescheduleMany(tube, {}, { later: '1h' }, { cursor });
    for await (const { failed } of act) expect(failed).toBe(0);
    expect(new Set(await shifts())).toEqual(new Set([1]));
  }, 120_000);
});
