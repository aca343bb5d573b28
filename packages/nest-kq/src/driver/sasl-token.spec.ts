import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { tokenOf, type SaslToken } from './sasl-token.js';

describe('tokenOf', () => {
  it('has an empty principal and no extensions where none are given', async () => {
    await expect(tokenOf(() => ({ value: 'a.b.c' }))).resolves.toEqual({
      value: 'a.b.c',
      lifetime: undefined,
      principal: '',
      extensions: {},
    });
  });

  it.each<[unknown, string]>([
    [undefined, 'value'],
    ['s3cret', 'value'],
    [{ value: '' }, 'value'],
    [{ value: 's3cret\u0001auth=x' }, 'value'],
    [{ value: 's3cret', lifetime: '1h' }, 'lifetime'],
    [{ value: 's3cret', principal: 5 }, 'principal'],
    [{ value: 's3cret', extensions: { a: 's3cret\u0001b=c' } }, 'extensions'],
    [{ value: 's3cret', extensions: { 'a=b': 'c' } }, 'extensions'],
  ])('refuses %p, and does not show it', async (given, field) => {
    const failure: unknown = await tokenOf(() => given as SaslToken).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'KQ_CONFIG',
      message: expect.stringContaining(`\`${field}\` in the result of \`sasl.token\` is wrong`),
    });
    expect(inspect(failure)).not.toContain('s3cret');
  });
});
