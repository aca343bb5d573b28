import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
const KEYS = ['a', 'b', 'c'];
/** Calls of each process for each key. */
const CALLS = 40;

/** Two processes call for the same keys at the same moments, while Redis restarts; a run reads the row of its key. */
async function burst(
  tube: string,
  call: (system: ReturnType<typeof suite.start>, key: string) => Promise<unknown>,
) {
  const systems = [suite.start(), suite.start()];
  const rows = new Map(KEYS.map((key) => [key, 0]));
  /** `start` is when the ledger granted the run. */
  const runs: { readonly key: string; readonly row: number; readonly start: number }[] = [];
  for (const { consumer } of systems) {
    await consumer.consume(tube, (key, { fence }) => {
      runs.push({ key: key as string, row: rows.get(key as string)!, start: fence / 1_000 });
    });
  }
  for (let i = 1; i <= CALLS; i++) {
    for (const key of KEYS) rows.set(key, i);
    if (i === CALLS / 2) await suite.servers.redis.restart();
    await Promise.all(systems.flatMap((system) => KEYS.map((key) => call(system, key))));
  }
  const last = (key: string) => runs.findLast((run) => run.key === key)?.row;
  await eventually('each last change was seen', () => KEYS.every((key) => last(key) === CALLS));
  await eventually('no copy is left', () => isEmpty(systems[0]!, tube));
  const starts = (key: string) => runs.flatMap((run) => (run.key === key ? [run.start] : []));
  return KEYS.map(starts);
}

describe('calls of several processes, with a restart of Redis in between', () => {
  it('are throttled: runs of a key start `per` apart, and the last call is not lost', async () => {
    const per = 500;
    const starts = await burst('throttled', ({ producer }, key) =>
      producer.throttle('throttled', key, { key, per, patience: '30s' }),
    );
    for (const each of starts) {
      const gaps = each.slice(1).map((start, i) => start - each[i]!);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(per);
    }
  }, 120_000);

  it('are debounced: fewer runs than calls, and the last call is not lost', async () => {
    const starts = await burst('debounced', ({ producer }, key) =>
      producer.debounce('debounced', key, { key, wait: 100, max: 400, patience: '30s' }),
    );
    for (const each of starts) expect(each.length).toBeLessThan(CALLS);
  }, 120_000);
});
