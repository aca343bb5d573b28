import { describe, expect, it } from '@jest/globals';
import { parseArguments } from 'nest-handlers/cli';
import type { SearchResult } from '../operate/search.js';
import { foundReference, REFERENCE_FLAGS, referenceOf } from './references.js';

const argsOf = (...args: string[]) =>
  parseArguments({ name: 'find', operands: ['[REF]'], flags: REFERENCE_FLAGS }, args);
const inspector = (...jobs: SearchResult['jobs']) => ({
  search: async () => ({ jobs, searched: 2, tubes: 2, more: false, away: [] }),
});
const job = (tube: string, more: object) => ({ tube, id: '01A', state: 'waiting' as const, ...more });

describe('REF', () => {
  it('that is a key is found in all tubes, by a command that changes nothing', async () => {
    expect(await foundReference(argsOf('order-3'), inspector(job('mail', { key: 'order-3' })))).toEqual({
      tube: 'mail',
      key: 'order-3',
    });
    expect(await foundReference(argsOf('01A'), inspector(job('mail', {})))).toEqual({
      tube: 'mail',
      id: '01A',
    });
    expect(await foundReference(argsOf('order-3'), inspector())).toBeUndefined();
    const partial = { search: async () => ({ ...(await inspector().search()), away: ['10.0.0.1:11300'] }) };
    await expect(foundReference(argsOf('order-3'), partial)).rejects.toThrow(
      /no answer from: 10\.0\.0\.1:11300$/,
    );
  });

  it('that is a key in several tubes names the ways to tell them apart', async () => {
    const both = inspector(job('mail', { key: 'x' }), job('sms', { key: 'x' }));
    await expect(foundReference(argsOf('x'), both)).rejects.toThrow(
      'find: 2 jobs found for x: expected --tube mail --key x, or --tube sms --key x.',
    );
  });

  it.each([
    ['order-3', 'find: order-3 is not a reference; for a key: --tube TUBE --key order-3.'],
    ['dq1.W10', 'find: the reference dq1.W10 is cut off or altered.'],
  ])('%s is refused in the words of the command line', (ref, message) => {
    expect(() => referenceOf(argsOf(ref))).toThrow(message);
  });
});
