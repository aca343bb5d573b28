import { describe, expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import { checkPayload, checkSchema } from './schema.js';
import { dated, datedLater, schemaBy } from '../../spec-support/schemas.js';

describe('checkPayload', () => {
  it('gives what the schema makes of a payload, at once if the schema answers at once', () => {
    expect(checkPayload(schemaBy(dated), { at: '2030-01-01' }, 't')).toEqual({
      payload: { at: new Date('2030-01-01') },
    });
  });

  it('waits for a schema that answers later', async () => {
    expect(await checkPayload(schemaBy(datedLater), { at: '2030-01-01' }, 't')).toEqual({
      payload: { at: new Date('2030-01-01') },
    });
    expect(await checkPayload(schemaBy(datedLater), {}, 't')).toBeInstanceOf(DqError);
  });

  it('tells each issue with its path, and has them all', () => {
    const issues = [
      { message: 'expected a number', path: ['lines', 0, { key: 'price' }] },
      { message: 'too short' },
    ];
    const refused = checkPayload(
      schemaBy(() => ({ issues })),
      {},
      'order',
    );
    expect(refused).toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
      message:
        'DQ_BAD_PAYLOAD: the schema of "order" refuses the payload: lines[0].price: expected a number; too short',
      issues: [
        { message: 'expected a number', path: ['lines', 0, 'price'] },
        { message: 'too short', path: [] },
      ],
    });
  });

  it('tells five of many issues', () => {
    const issues = Array.from({ length: 7 }, (_, i) => ({ message: `no ${i}`, path: [i] }));
    const refused = checkPayload(
      schemaBy(() => ({ issues })),
      [],
      't',
    ) as DqError;
    expect(refused.message).toMatch(/: \[0\]: no 0; .*\[4\]: no 4; and 2 more$/);
    expect(refused.issues).toHaveLength(7);
  });

  it('throws, or rejects with, what the schema throws', async () => {
    const slip = new Error('slip');
    const throws = schemaBy(() => {
      throw slip;
    });
    expect(() => checkPayload(throws, {}, 't')).toThrow(slip);
    await expect(
      checkPayload(
        schemaBy(() => Promise.reject(slip)),
        {},
        't',
      ),
    ).rejects.toBe(slip);
  });
});

describe('checkSchema', () => {
  it('takes an object or a function that has the standard method', () => {
    const object = schemaBy(dated);
    const callable = Object.assign(() => undefined, object);
    expect(checkSchema(object, 't')).toBe(object);
    expect(checkSchema(callable, 't')).toBe(callable);
  });

  it.each<unknown>([undefined, null, {}, 'string', { '~standard': {} }, { parse: () => undefined }])(
    'refuses %p',
    (schema) => {
      expect(() => checkSchema(schema, 't')).toThrow(
        expect.objectContaining({
          code: 'DQ_BAD_OPTION',
          message: expect.stringMatching(
            /the schema of "t" is .*expected a Standard Schema/,
          ) as unknown as string,
        }),
      );
    },
  );
});
