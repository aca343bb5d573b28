import { expect, it } from '@jest/globals';
import { lastRead, noteRead } from './last-read.js';

it('keeps the last data about fifty things, and of those without a name none', () => {
  for (let i = 0; i < 50; i++) noteRead(`thing ${i}`, { data: i, asOf: i });
  noteRead('thing 0', { data: 'new', asOf: 50 });
  noteRead('thing 50', { data: 50, asOf: 51 });
  noteRead('', { data: 'nameless', asOf: 52 });
  expect(lastRead('thing 0')).toEqual({ data: 'new', asOf: 50 });
  expect(lastRead('thing 1')).toBeUndefined();
  expect(lastRead('thing 2')).toEqual({ data: 2, asOf: 2 });
  expect(lastRead('')).toBeUndefined();
});
