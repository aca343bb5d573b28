// The attacks, on an application without a seal.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { LIMIT, runSmall, type Result } from '../small/command.js';
import type { AttackRow } from './runner.js';

describe('without a seal', () => {
  let result: Result<AttackRow>;
  beforeAll(async () => {
    result = await runSmall('--attacks', '--unsealed', '--only', 'forge,siblings');
  }, LIMIT);

  it.each<[string, (row: AttackRow) => boolean]>([
    ['forge', ({ forged, readable }) => forged > 0 && readable > 0],
    ['siblings', ({ forged, victimsGone }) => forged > 0 && victimsGone > 0],
  ])('the attack %s succeeds, and its checks say so', (name, succeeds) => {
    const row = result.rows.find((each) => each.name === name)!;
    expect(row.why.join()).not.toContain('failed with an error');
    expect({ passed: row.passed, succeeds: succeeds(row) }).toEqual({ passed: false, succeeds: true });
  });

  it('the command ends with the status of a failure', () => expect(result.status).toBe(1));
});
