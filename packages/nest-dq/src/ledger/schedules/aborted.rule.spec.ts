import { expect, it } from '@jest/globals';
import { abortOpened } from '../schedules/aborted.rule.js';

// For what follows from it, see test/contract/ledger-granted.spec.ts.
it.each([
  ['all above it, where it was committed before', 20, [{ from: 21, to: 30 }]],
  ['all above it that were opened, where it was not', -1, [{ from: 21, to: 30 }]],
  ['none that is older than the first that was opened', -1, [{ from: 25, to: 30 }], 25],
])('a generation that is granted aborts %s, and never itself', (_what, before, aborted, firstOpened = 10) => {
  const record = { committed: 20, opened: 30, firstOpened, aborted: [{ from: 28, to: 40 }] };
  abortOpened(record, before);
  expect(record.aborted).toEqual([{ from: 31, to: 40 }, ...aborted]);
});
