import { describe, expect, it } from '@jest/globals';
import { checkSchema, refusalOf } from './schema.js';
import { dated, schemaBy } from '../../spec-support/schemas.js';

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

it('a refusal names the tube and what is wrong, and has all issues', () => {
  const issues = [{ message: 'expected a text', path: ['at'] }];
  const refusal = refusalOf('order')('at: expected a text', issues);
  expect(refusal).toMatchObject({
    code: 'DQ_BAD_PAYLOAD',
    message: 'DQ_BAD_PAYLOAD: the schema of "order" rejects the payload: at: expected a text',
    issues,
  });
});
