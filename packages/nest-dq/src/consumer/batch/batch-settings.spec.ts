import { describe, expect, it } from '@jest/globals';
import {
  resolveHandlerDefaults,
  resolveHandlerOptions,
  slotsOf,
  type GivenOptions,
} from '../run/handler-settings.js';

describe('the option `batch`', () => {
  it('has a default for the wait, and makes a slot for each job of each batch', () => {
    const settings = resolveHandlerOptions({ batch: { size: 50 }, concurrency: 2 });
    expect(settings).toMatchObject({ batch: { size: 50, wait: 200 }, concurrency: 2 });
    expect(slotsOf(settings)).toBe(100);
    expect(resolveHandlerOptions({ batch: { size: 50, wait: 0 } }).batch?.wait).toBe(0);
  });

  it('leaves at most as many slots as `limit.concurrency`', () => {
    const limited = resolveHandlerOptions({ batch: { size: 50 }, limit: { concurrency: 70 } });
    expect(slotsOf(limited)).toBe(70);
  });

  it.each<[unknown, string]>([
    [{ batch: 100 }, '`batch` is 100: expected an object such as { size: 100 }'],
    [{ batch: {} }, '`batch.size` is undefined: expected 1 to 1000'],
    [{ batch: { size: 0 } }, '`batch.size` is 0: expected 1 to 1000'],
    [{ batch: { size: 1_001 } }, '`batch.size` is 1001: expected 1 to 1000'],
    [{ batch: { size: '5' } }, '`batch.size` is "5": expected 1 to 1000'],
    [{ batch: { size: 5, wait: '2s' } }, '`batch.wait` is "2s": expected 0 to 1000 ms'],
    [{ batch: { size: 5, wait: 'soon' } }, '`batch.wait` is "soon"'],
    [{ batch: { size: 5, within: '2s' } }, 'within'],
    [
      { batch: { size: 5 }, limit: { concurrency: 4 } },
      '`limit.concurrency` is 4: expected at least the `batch.size` of 5',
    ],
    [
      { batch: { size: 5 }, limit: { rate: 100 } },
      '`limit.burst` is 1: expected at least the `batch.size` of 5',
    ],
  ])('refuses %p', (options, message) => {
    expect(() => resolveHandlerOptions(options as GivenOptions)).toThrow(message);
  });

  it('belongs to a handler, not to the module', () => {
    const given = { batch: { size: 5 } } as Parameters<typeof resolveHandlerDefaults>[0];
    expect(() => resolveHandlerDefaults(given)).toThrow(/`batch` is .*: expected it on a handler/);
  });
});
