import { describe, expect, it } from '@jest/globals';
import { BeanstalkError } from './beanstalk-error.js';
import { type Command, commands, isTubeName } from './commands.js';

const LONGEST_NAME = 'n'.repeat(200);
const LARGEST = 4_294_967_295;
const LARGEST_ID = '18446744073709551615';
const put = { priority: 1, delay: 2, ttr: 3 };

describe('commands', () => {
  it.each<[Command, string]>([
    [commands.put(put, 5), 'put 1 2 3 5\r\n'],
    [commands.use('a-tube'), 'use a-tube\r\n'],
    [commands.reserveWithTimeout(0), 'reserve-with-timeout 0\r\n'],
    [commands.reserveJob('7'), 'reserve-job 7\r\n'],
    [commands.delete(LARGEST_ID), `delete ${LARGEST_ID}\r\n`],
    [commands.release('7', 8, 9), 'release 7 8 9\r\n'],
    [commands.bury('7', LARGEST), 'bury 7 4294967295\r\n'],
    [commands.touch('7'), 'touch 7\r\n'],
    [commands.watch('t'), 'watch t\r\n'],
    [commands.ignore('t'), 'ignore t\r\n'],
    [commands.peek('7'), 'peek 7\r\n'],
    [commands.kickJob('7'), 'kick-job 7\r\n'],
    [commands.stats(), 'stats\r\n'],
    [commands.statsJob('7'), 'stats-job 7\r\n'],
    [commands.statsTube('t'), 'stats-tube t\r\n'],
    [commands.listTubes(), 'list-tubes\r\n'],
    [commands.quit(), 'quit\r\n'],
  ])('%j is the line %j', (command, line) => {
    expect(command).toBe(line);
  });

  it('never makes a line over the 224 bytes that the server takes', () => {
    const longest = [
      commands.put({ priority: LARGEST, delay: LARGEST, ttr: LARGEST }, LARGEST),
      commands.release(LARGEST_ID, LARGEST, LARGEST),
      commands.statsTube(LONGEST_NAME),
    ].map((line) => String(line).length);
    expect(Math.max(...longest)).toBeLessThanOrEqual(224);
  });

  it.each([-1, 1.5, 2 ** 32, NaN, Infinity, '1', null, undefined, 1n])('refuses the number %p', (wrong) => {
    const number = wrong as number;
    for (const command of [
      commands.put({ ...put, priority: number }, 1),
      commands.put({ ...put, delay: number }, 1),
      commands.put({ ...put, ttr: number }, 1),
      commands.put(put, number),
      commands.reserveWithTimeout(number),
      commands.release('1', number, 0),
      commands.release('1', 0, number),
      commands.bury('1', number),
    ]) {
      expectRefused(command, 'an integer from 0 to 2^32-1');
    }
  });

  it.each([
    '',
    '-1',
    '1.5',
    ' 1',
    '1\r\n',
    '1e3',
    'x',
    '18446744073709551616',
    '99999999999999999999',
    '0'.repeat(21),
    7,
  ])('refuses the job id %p', (wrong) => {
    const id = wrong as string;
    for (const command of [
      commands.reserveJob(id),
      commands.delete(id),
      commands.release(id, 0, 0),
      commands.bury(id, 0),
      commands.touch(id),
      commands.peek(id),
      commands.kickJob(id),
      commands.statsJob(id),
    ]) {
      expectRefused(command, 'a string of decimal digits');
    }
  });

  it.each(['', '-a', 'a b', 'a\r\n', 'ä', 'a,b', `${LONGEST_NAME}n`, 5, undefined])(
    'refuses the tube %p',
    (wrong) => {
      const tube = wrong as string;
      for (const command of [
        commands.use(tube),
        commands.watch(tube),
        commands.ignore(tube),
        commands.statsTube(tube),
      ]) {
        expectRefused(command, '1 to 200 of');
      }
    },
  );

  it('shows the value that it refuses', () => {
    expect((commands.reserveWithTimeout(-4) as BeanstalkError).message).toBe(
      'BAD_ARGUMENT: the timeout is -4: expected an integer from 0 to 2^32-1',
    );
  });
});

describe('isTubeName', () => {
  it.each(['a', 'A-Za-z0-9-+/;.$_()', LONGEST_NAME, '+', 'a-'])('takes %p', (name) => {
    expect(isTubeName(name)).toBe(true);
  });

  it.each(['', '-', 'a\n', 'a%', null])('does not take %p', (name) => {
    expect(isTubeName(name)).toBe(false);
  });
});

function expectRefused(command: Command, expected: string): void {
  expect(command).toBeInstanceOf(BeanstalkError);
  const { code, unknown, message } = command as BeanstalkError;
  expect({ code, unknown }).toEqual({ code: 'BAD_ARGUMENT', unknown: false });
  expect(message).toContain(expected);
}
