import { describe, expect, it } from '@jest/globals';
import { defineTopic, formatOf, topicName, type Topic, type ValueOf } from './topic.js';

describe('defineTopic', () => {
  it('names a topic of JSON, of strings or of bytes', () => {
    expect(defineTopic('orders')).toEqual({ name: 'orders', format: 'json' });
    expect(defineTopic('lines', { format: 'text' })).toEqual({ name: 'lines', format: 'text' });
    expect(defineTopic('files', { format: 'bytes' })).toEqual({ name: 'files', format: 'bytes' });
  });

  it('carries what is pushed and what a handler gets', () => {
    const orders = defineTopic<{ at: Date }, { at: string }>('orders');
    const lines = defineTopic('lines', { format: 'text' });
    const pushed: Parameters<NonNullable<(typeof orders)['~in']>> = [{ at: new Date(0) }];
    const handled: [ValueOf<typeof orders>, ValueOf<typeof lines>] = [{ at: '' }, ''];
    // @ts-expect-error a number is no text
    const wrong: ValueOf<typeof lines> = 5;
    expect([pushed, handled, wrong]).toBeDefined();
  });

  it.each(['a', 'orders.eu-1_x', 'A'.repeat(249), '...', '.a'])('takes the name %p', (name) => {
    expect(defineTopic(name).name).toBe(name);
  });

  it.each<[unknown, string]>([
    ['', "''"],
    ['.', "'.'"],
    ['..', "'..'"],
    ['a b', "'a b'"],
    ['ä', "'ä'"],
    ['a\n', "'a\\n'"],
    ['a'.repeat(250), `'${'a'.repeat(100)}'... 150 more characters`],
    [undefined, 'undefined'],
    [5, '5'],
    [null, 'null'],
  ])('refuses the name %p', (name, shown) => {
    expect(() => defineTopic(name as string)).toThrow(
      `KQ_BAD_TOPIC: the topic is ${shown}: expected 1 to 249 characters of A-Z a-z 0-9 . _ -, and not . or ..`,
    );
  });

  it.each<[unknown, string]>([
    [
      { format: 'avro' },
      "`format` of defineTopic('a') is 'avro': expected 'json', 'text', 'bytes', or an object with name, encode and decode",
    ],
    [
      { formt: 'text' },
      "there is no `formt` in the options of defineTopic('a'): expected one of schema, format",
    ],
    [
      { schema: {} },
      "the schema of 'a' is {}: expected a Standard Schema, such as one from Zod, Valibot or ArkType",
    ],
    [{ schema: undefined }, "the schema of 'a' is undefined: expected a Standard Schema"],
    ['text', "the options of defineTopic('a') are 'text': expected an object with schema, format"],
    [null, "the options of defineTopic('a') are null: expected an object with schema, format"],
  ])('refuses the options %p', (options, why) => {
    const define: (name: string, options: { format: 'text' }) => Topic = defineTopic;
    expect(() => define('a', options as { format: 'text' })).toThrow(`KQ_BAD_OPTION: ${why}`);
  });
});

describe('topicName and formatOf', () => {
  it('say where the name of a missing topic comes from', () => {
    expect(() => topicName(undefined as unknown as Topic)).toThrow(
      /^KQ_BAD_TOPIC: the topic is undefined: .*; circular import\? The file it comes from may import this one$/,
    );
  });

  it('take a plain name as a topic of JSON', () => {
    const lines = defineTopic('lines', { format: 'text' });
    expect([topicName('orders'), formatOf('orders')]).toEqual(['orders', 'json']);
    expect([topicName(lines), formatOf(lines)]).toEqual(['lines', 'text']);
  });

  it('refuse an invalid topic', () => {
    expect(() => topicName({} as Topic)).toThrow('KQ_BAD_TOPIC: the topic is undefined');
    expect(() => topicName({} as Topic)).toThrow(/and not \. or \.\.$/);
  });
});
