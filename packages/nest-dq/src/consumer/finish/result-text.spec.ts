import { describe, expect, it } from '@jest/globals';
import { resultText } from './result-text.js';

describe('the result kept with a finished job', () => {
  it('is JSON of at most 1,000 characters', () => {
    expect(resultText({ order: 42, paid: true })).toEqual({ result: '{"order":42,"paid":true}' });
    expect(resultText(null)).toEqual({ result: 'null' });
    expect(resultText('x'.repeat(998))).toEqual({ result: `"${'x'.repeat(998)}"` });
    expect(resultText('x'.repeat(999))).toEqual({ leftOut: 'too long' });
    expect(resultText(Array.from({ length: 499 }, () => 1)).result).toHaveLength(999);
    expect(resultText(Array.from({ length: 501 }, () => 1))).toEqual({ leftOut: 'too long' });
  });

  it('is absent where there is none', () => {
    expect(resultText(undefined)).toEqual({});
    expect(resultText(() => 1)).toEqual({});
    expect(resultText({ nothing: undefined, more: () => 1 })).toEqual({ result: '{}' });
  });

  it('is left out where it is not JSON', () => {
    const ring: Record<string, unknown> = {};
    ring['ring'] = ring;
    expect(resultText(ring)).toEqual({ leftOut: 'not JSON' });
    expect(resultText(42n)).toEqual({ leftOut: 'not JSON' });
    const failing = { toJSON: () => Promise.reject.call(undefined) };
    expect(resultText(failing)).toEqual({ leftOut: 'not JSON' });
  });

  it('is looked at no further than it is kept', () => {
    let looked = 0;
    const list = Array.from({ length: 100_000 }, () => ({
      get value() {
        looked++;
        return 'x'.repeat(100);
      },
    }));
    expect(resultText(list)).toEqual({ leftOut: 'too long' });
    expect(looked).toBeLessThan(11);
  });
});
