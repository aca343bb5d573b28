import { describe, expect, it } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { checkPayload, isSchema, type PayloadIssue } from './schema.js';

type Result = StandardSchemaV1.Result<unknown>;

class Refused extends Error {
  constructor(
    message: string,
    readonly issues: readonly PayloadIssue[],
  ) {
    super(message);
  }
}
const refuse = (told: string, issues: readonly PayloadIssue[]) => new Refused(told, issues);

const schemaBy = (validate: (value: unknown) => Result | Promise<Result>): StandardSchemaV1 => ({
  '~standard': { version: 1, vendor: 'specs', validate },
});

/** Turns a text into its length, and refuses everything else. */
const length = (value: unknown): Result =>
  typeof value === 'string' ? { value: value.length } : { issues: [{ message: 'expected a text' }] };

describe('checkPayload', () => {
  it('returns what the schema parses, at once if the schema answers at once', () => {
    expect(checkPayload(schemaBy(length), 'four', refuse)).toEqual({ payload: 4 });
    expect(checkPayload(schemaBy(length), 4, refuse)).toBeInstanceOf(Refused);
  });

  it('waits for a schema that answers later', async () => {
    const later = schemaBy(async (value) => length(value));
    expect(await checkPayload(later, 'four', refuse)).toEqual({ payload: 4 });
    expect(await checkPayload(later, 4, refuse)).toBeInstanceOf(Refused);
  });

  it('reports each issue with its path, and has them all', () => {
    const issues = [
      { message: 'expected a number', path: ['lines', 0, { key: 'price' }] },
      { message: 'too short' },
    ];
    const refused = checkPayload(
      schemaBy(() => ({ issues })),
      {},
      refuse,
    );
    expect(refused).toMatchObject({
      message: 'lines[0].price: expected a number; too short',
      issues: [
        { message: 'expected a number', path: ['lines', 0, 'price'] },
        { message: 'too short', path: [] },
      ],
    });
  });

  it('reports five of many issues', () => {
    const issues = Array.from({ length: 7 }, (_, i) => ({ message: `no ${i}`, path: [i] }));
    const refused = checkPayload(
      schemaBy(() => ({ issues })),
      [],
      refuse,
    ) as Refused;
    expect(refused.message).toMatch(/^\[0\]: no 0; .*\[4\]: no 4; and 2 more$/);
    expect(refused.issues).toHaveLength(7);
  });

  it('throws, or rejects with, what the schema throws', async () => {
    const slip = new Error('slip');
    const throws = schemaBy(() => {
      throw slip;
    });
    expect(() => checkPayload(throws, {}, refuse)).toThrow(slip);
    await expect(
      checkPayload(
        schemaBy(() => Promise.reject(slip)),
        {},
        refuse,
      ),
    ).rejects.toBe(slip);
  });
});

describe('isSchema', () => {
  it('takes an object or a function that has the standard method', () => {
    const object = schemaBy(length);
    expect([object, Object.assign(() => undefined, object)].map(isSchema)).toEqual([true, true]);
  });

  it.each<unknown>([undefined, null, {}, 'string', { '~standard': {} }, { parse: () => undefined }])(
    'takes no %p',
    (value) => {
      expect(isSchema(value)).toBe(false);
    },
  );
});
