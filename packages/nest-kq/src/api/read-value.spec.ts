import { describe, expect, it } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { readValue } from './read-value.js';
import { defineTopic, type Topic } from './topic.js';

function topicBy(
  validate: (value: unknown) => StandardSchemaV1.Result<Date> | Promise<StandardSchemaV1.Result<Date>>,
): Topic {
  const schema: StandardSchemaV1<string, Date> = {
    '~standard': { version: 1, vendor: 'specs', validate },
  };
  return defineTopic('days', { schema });
}

const dated = topicBy((value) =>
  typeof value === 'string'
    ? { value: new Date(value) }
    : { issues: [{ message: 'expected a text', path: ['at'] }] },
);

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('readValue', () => {
  it('returns the value as the schema parses it, and unchanged without one', () => {
    const at = new Date(5);
    expect(readValue(dated, 'days', json(at))).toEqual({ payload: at });
    expect(readValue('days', 'days', json(at))).toEqual({ payload: at.toISOString() });
  });

  it('returns a refusal with its issues, but not an error that is thrown', () => {
    expect(readValue(dated, 'days', json(5))).toMatchObject({
      code: 'KQ_BAD_MESSAGE',
      message: "KQ_BAD_MESSAGE: the schema of 'days' rejects the value: at: expected a text",
      issues: [{ message: 'expected a text', path: ['at'] }],
    });
    expect(readValue(dated, 'days', Buffer.from('{'))).toMatchObject({ code: 'KQ_BAD_MESSAGE' });
  });

  it('lets no schema see a tombstone', () => {
    expect(readValue(dated, 'days', null)).toEqual({ payload: null });
  });

  it('waits for a schema that answers later, and throws what a schema throws', async () => {
    const later = topicBy(async (value) => ({ value: new Date(String(value)) }));
    await expect(readValue(later, 'days', json(new Date(5)))).resolves.toEqual({ payload: new Date(5) });
    const failing = topicBy(() => {
      throw new TypeError('x');
    });
    expect(() => readValue(failing, 'days', json(5))).toThrow(TypeError);
  });
});
