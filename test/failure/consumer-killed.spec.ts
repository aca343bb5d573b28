import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { isEmpty, record, schedule, type Start } from '../support/jobs.js';
import { startProgram, type Program } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const LEASE = 3_000;

const suite = clusterSuite();

interface Taken extends Pick<Start, 'id' | 'attempt' | 'fence'> {
  readonly at: number;
}

/** A process of the built library whose handlers never end; notes what it takes. */
function consumerProcess(tube: string, taken: Taken[]): Program {
  const options = { ...optionsOf(suite.servers), advanced: { lease: LEASE } };
  return startProgram('support/consumer-process.mjs', JSON.stringify({ tube, options }), (line) =>
    taken.push({ ...(JSON.parse(line) as Taken), at: Date.now() }),
  );
}

async function killed({ child, ended }: Program): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

describe('a consumer that is killed in its handlers', () => {
  it('loses nothing: others run its jobs when the lease is over, as another attempt with a greater fence', async () => {
    const tube = 'killed';
    const taken: Taken[] = [];
    const starts: Start[] = [];
    const one = suite.start({ advanced: { lease: LEASE } });
    const receipts = await schedule(one, tube, 20, () => Date.now() + 500);
    const child = consumerProcess(tube, taken);
    await eventually('it took them all', () => taken.length === 20);
    // The backups have surfaced as well, and were released to come back.
    await eventually('it is extended', () => Date.now() > taken.at(-1)!.at + LEASE);
    await record(one, tube, starts);
    expect(starts).toEqual([]);
    await killed(child);
    await eventually('another ran them', () => starts.length >= 20);
    await eventually('no copy is left', () => isEmpty(one, tube));
    expect(starts.map(({ id }) => id).toSorted()).toEqual(receipts.map(({ id }) => id).toSorted());
    for (const start of starts) {
      const before = taken.find(({ id }) => id === start.id)!;
      expect(start.attempt).toBe(before.attempt + 1);
      expect(start.fence).toBeGreaterThan(before.fence);
    }
  }, 120_000);

  it('loses nothing when one after the other is killed', async () => {
    const tube = 'killed-again';
    const taken: Taken[] = [];
    const starts: Start[] = [];
    const one = suite.start({ advanced: { lease: LEASE } });
    const [receipt] = await schedule(one, tube, 1, () => Date.now());
    for (let run = 1; run <= 2; run++) {
      const child = consumerProcess(tube, taken);
      await eventually(`it runs for the ${run}. time`, () => taken.length === run);
      await killed(child);
    }
    await record(one, tube, starts);
    await eventually('it ran', () => starts.length === 1);
    expect([...taken, ...starts].map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect([...taken, ...starts].every(({ id }) => id === receipt!.id)).toBe(true);
    const fences = [...taken, ...starts].map(({ fence }) => fence);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
    await eventually('no copy is left', () => isEmpty(one, tube));
  }, 120_000);
});
