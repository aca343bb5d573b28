import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DqError } from 'nest-dq';
import { patiently } from './patience.js';

/** A task that fails with each of the errors in turn, and then resolves with the number of its calls. */
function failing(...errors: Error[]): () => Promise<number> {
  let calls = 0;
  return () => {
    const error = errors[calls++];
    return error ? Promise.reject(error) : Promise.resolve(calls);
  };
}

const tooFew = () => new DqError('DQ_TOO_FEW_COPIES', 'stored on 0 of 3 nodes');

describe('patiently', () => {
  let said: string[];

  beforeEach(() => {
    said = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  });

  afterEach(() => void jest.restoreAllMocks());

  it('begins again where too few nodes answered, and says so each time', async () => {
    expect(await patiently(failing(tooFew(), tooFew()), 0)).toBe(3);
    const line = expect.stringMatching(/^the round failed; retrying: .*stored on 0 of 3 nodes\n$/);
    expect(said).toEqual([line, line]);
  });

  it('gives up after the third time', async () => {
    await expect(patiently(failing(tooFew(), tooFew(), tooFew()), 0)).rejects.toThrow(
      'stored on 0 of 3 nodes',
    );
  });

  it('leaves every other failure what it is', async () => {
    await expect(patiently(failing(new Error('2 jobs ran twice')), 0)).rejects.toThrow('2 jobs ran twice');
    expect(said).toEqual([]);
  });
});
