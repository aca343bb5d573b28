import { describe, expect, it } from '@jest/globals';
import { refIn } from './reads.js';

describe('refIn', () => {
  it('finds the ref of a receipt, pasted as it is or as JSON', () => {
    expect(refIn('dq1.abc')).toBe('dq1.abc');
    expect(refIn('{"id":"i","ref":"dq1.abc"}')).toBe('dq1.abc');
  });

  it('takes any other string for an id or a key', () => {
    for (const text of ['order-1', '{order}', '{"a":1}', '{"ref":1}']) expect(refIn(text)).toBeUndefined();
  });
});
